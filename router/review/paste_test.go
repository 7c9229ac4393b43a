package review_test

import (
	"strings"
	"testing"

	"junction/router"
	"junction/router/review"
	"junction/router/static"
	"junction/state"
)

// A server chooses the names of its tools. What can be pasted names the tool, and
// says nothing else.
func TestWhateverAToolIsCalledThePasteNamesIt(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"a: b", "true", "No", "null", "~", "1", "0x10", "1e3", `"quoted"`, "{a: b}", "[a]", "- a", "# c", "a #c", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a`",
		" a", "a ", "é", "日本", "🙂", "a\\b", "<script>", "${HOME}", "a,b", "a'b", "?", "a\u2028b",
	} {
		in := shop(func(in *router.Inspection, m *router.Terms) {
			in.Terms = append(in.Terms, router.Terms{Name: name, Tool: m.Tool, Effect: state.Unsafe, From: router.Unsaid})
		})
		rv := review.New(in, review.Settings{Client: bounds(t)})
		if len(rv.Findings) != 1 || rv.Findings[0].Rule != "tools-without-offer" {
			t.Fatalf("%q: %+v", name, rv.Findings)
		}
		file := strings.Replace(rv.Findings[0].Paste, "  shop:\n    ", "  shop:\n    command: x\n    ", 1)
		c, err := static.Parse("/etc/junction/junction.yaml", []byte(file), nil)
		if err != nil {
			t.Errorf("%q does not load:\n%s\n%v", name, file, err)
			continue
		}
		o := c.Servers[0].Offers
		if len(o) != 1 || o[0].Tool != name || o[0].Effect != state.Unsafe || len(c.Servers) != 1 {
			t.Errorf("%q became %+v", name, o)
		}
	}
}
