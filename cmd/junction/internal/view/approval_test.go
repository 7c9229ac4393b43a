package view_test

import (
	"bytes"
	"strings"
	"testing"

	"junction/cmd/junction/internal/view"
	"junction/router"
	"junction/router/static"
)

func TestWhatIsApprovedIsShownWithWhatAPersonWouldNotSee(t *testing.T) {
	t.Parallel()
	now := []router.Tool{
		{Name: "hidden", Description: "Adds.\u200b\U000e0053\U000e0065 \u202eback\nSecond line.\x1b[2J"},
		{Name: "long", Description: strings.Repeat("ä", 5000)},
	}
	a := view.Approval{Lock: "junction.lock.json"}
	a.Add("srv", []static.Change{
		{Tool: "gone", Kind: "removed"}, {Tool: "hidden", Kind: "changed", Parts: []string{"description", "input schema"}}, {Tool: "long", Kind: "added"},
	}, now)
	var out bytes.Buffer
	if err := view.Approvals(&out, a, view.Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"srv\n  - gone  gone\n", "~ hidden  changed: description, input schema\n",
		`Adds.\u{200b}\u{e0053}\u{e0065} \u{202e}back` + "\n      Second line." + `\u{1b}[2J` + "\n",
		"… and 1000 more characters",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in:\n%s", want, out.String())
		}
	}
	if strings.ContainsAny(out.String(), "\x1b\u200b\u202e") {
		t.Error("something invisible reaches the terminal")
	}
}
