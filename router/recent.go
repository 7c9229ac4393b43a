package router

import "sync"

// recent is a map that forgets its oldest entries beyond recentMost: what is
// remembered per thread must not grow with the number of threads.
type recent[K comparable, V any] struct {
	mu    sync.Mutex
	by    map[K]V
	order []K // oldest first
}

const recentMost = 10000

func (r *recent[K, V]) get(k K) V {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.by[k]
}

// set sets the value of a key.
func (r *recent[K, V]) set(k K, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.by[k]; known {
		r.by[k] = v
		return
	}
	r.put(k, v)
}

func (r *recent[K, V]) put(k K, v V) {
	if r.by == nil {
		r.by = make(map[K]V)
	}
	if len(r.order) >= recentMost {
		delete(r.by, r.order[0])
		r.order = r.order[1:]
	}
	r.by[k] = v
	r.order = append(r.order, k)
}

func (r *recent[K, V]) drop(k K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.by, k)
	for i, o := range r.order {
		if o == k {
			r.order = append(r.order[:i:i], r.order[i+1:]...)
			return
		}
	}
}
