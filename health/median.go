package health

// median returns the middle of xs (of an even number the lower one), or 0 for
// none. It reorders xs and takes linear time.
func median(xs []float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	want, lo, hi := (len(xs)-1)/2, 0, len(xs)-1
	for lo < hi {
		// The middle element as pivot keeps sorted input, the common case, quick.
		pivot := xs[lo+(hi-lo)/2]
		i, j := lo, hi
		for i <= j {
			for xs[i] < pivot {
				i++
			}
			for xs[j] > pivot {
				j--
			}
			if i <= j {
				xs[i], xs[j] = xs[j], xs[i]
				i++
				j--
			}
		}
		switch {
		case want <= j:
			hi = j
		case want >= i:
			lo = i
		default:
			return xs[want]
		}
	}
	return xs[want]
}
