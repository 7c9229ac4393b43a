package mcp

import (
	"os/exec"
	"runtime"
	"sync"
)

// spawner starts processes from one thread that lives as long as they do.
// Linux can end a child with its parent, but by parent it means the thread
// that started the child, and Go's threads come and go.
type spawner struct {
	once sync.Once // of the thread's start
	shut sync.Once
	work chan func()
	quit chan struct{}
	done chan struct{}
}

func newSpawner() *spawner {
	return &spawner{work: make(chan func()), quit: make(chan struct{}), done: make(chan struct{})}
}

// run starts cmd.
func (s *spawner) run(cmd *exec.Cmd) error {
	s.once.Do(func() { go s.loop() })
	result := make(chan error, 1)
	s.work <- func() { result <- cmd.Start() }
	return <-result
}

func (s *spawner) loop() {
	defer close(s.done)
	// Never unlocked: the thread ends with the loop.
	runtime.LockOSThread()
	for {
		select {
		case start := <-s.work:
			start()
		case <-s.quit:
			return
		}
	}
}

// close ends the thread. Call it when every child has ended; a second time does
// nothing.
func (s *spawner) close() {
	s.shut.Do(func() { close(s.quit) })
	s.once.Do(func() { close(s.done) })
	<-s.done
}
