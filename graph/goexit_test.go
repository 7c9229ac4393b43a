package graph_test

import "runtime"

func runtimeGoexit() { runtime.Goexit() }
