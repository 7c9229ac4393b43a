package router_test

import (
	"fmt"

	"junction/router"
)

// A flow of three: reports that follow each other become one, the oldest gives way
// to a final, and what was lost is told.
func ExampleFlow() {
	f := router.NewFlow[string](3)
	f.Report("build", "build: 10 %")
	f.Report("build", "build: 20 %")
	f.Report("test", "test: 5 %")
	for _, final := range []string{"lint passed", "build passed"} {
		if err := f.Final(final); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println("read again:", f.Reread())
	for {
		v, ok := f.Next()
		if !ok {
			break
		}
		fmt.Println(v)
	}
	// Output:
	// read again: 1
	// test: 5 %
	// lint passed
	// build passed
}
