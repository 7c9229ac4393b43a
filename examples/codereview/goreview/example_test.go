package goreview_test

import (
	"context"
	"fmt"

	"junction/examples/codereview/goreview"
	"junction/examples/codereview/reviewer"
)

func ExampleReviewer_Review() {
	v := goreview.New(nil)
	review, err := v.Review(context.Background(), reviewer.Request{
		Language: reviewer.Go,
		Code:     "package p\n\nimport \"fmt\"\n\nfunc Greet() { fmt.Printf(\"hello %d\\n\", \"world\") }\n",
	})
	if err != nil {
		fmt.Println(err)
	}
	for _, f := range review.Issues {
		fmt.Printf("line %d: %s\n", f.Line, f.Message)
	}
	if err := v.Close(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// line 5: fmt.Printf format %d has arg "world" of wrong type string
}
