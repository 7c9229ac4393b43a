package bridge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func (b *outbox) told(method, params string) {
	e := envelope{method: json.RawMessage(`"` + method + `"`), params: json.RawMessage(params)}
	key, w := describe(method, &e)
	b.report(outgoing{envelope: e}, key, w)
}

func (b *outbox) answered(id string) {
	b.final(outgoing{envelope: envelope{id: json.RawMessage(id), result: json.RawMessage(`{}`)}})
}

// rest takes everything out, each as its id or its parameters.
func (b *outbox) rest() (all []string) {
	for {
		o, ok := b.next()
		switch {
		case !ok:
			return all
		case o.id != nil:
			all = append(all, string(o.id))
		default:
			all = append(all, strings.Trim(string(o.method), `"`)+string(o.params))
		}
	}
}

func TestProgressOfOneTokenBecomesOneAndStaysBeforeItsAnswer(t *testing.T) {
	t.Parallel()
	var b outbox
	for i := range 1000 {
		b.told("notifications/progress", fmt.Sprintf(`{"progress":%d,"progressToken":"a"}`, i))
		b.told("notifications/progress", fmt.Sprintf(`{"progressToken":7,"progress":%d}`, i))
		if i == 500 {
			b.answered("1")
		}
	}
	b.told("notifications/progress", `{"progressToken":"7","progress":1}`)
	want := []string{
		`notifications/progress{"progress":999,"progressToken":"a"}`,
		`notifications/progress{"progressToken":7,"progress":999}`,
		`1`,
		`notifications/progress{"progressToken":"7","progress":1}`,
	}
	if got := b.rest(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if b.lost != 0 {
		t.Errorf("%d lost, though the newest of a token stands for all", b.lost)
	}
}

func TestAChangeIsToldOnceAndAfterAllThatWasSaidBeforeIt(t *testing.T) {
	t.Parallel()
	var b outbox
	b.told("notifications/tools/list_changed", ``)
	b.told("notifications/resources/updated", `{"uri":"a"}`)
	b.told("notifications/resources/updated", `{"uri":"b"}`)
	b.answered("1") // perhaps a list from before the next change
	b.told("notifications/tools/list_changed", ``)
	b.told("notifications/resources/updated", `{"uri":"a"}`)
	want := []string{
		`notifications/resources/updated{"uri":"b"}`, `1`,
		`notifications/tools/list_changed`, `notifications/resources/updated{"uri":"a"}`,
	}
	if got := b.rest(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestWhatIsMissedLeastGivesWayFirst(t *testing.T) {
	t.Parallel()
	var b outbox
	b.told("notifications/prompts/list_changed", ``)
	for i := range mostReports {
		b.told("notifications/resources/updated", fmt.Sprintf(`{"uri":%d}`, i))
	}
	if b.lost != 1 {
		t.Fatalf("%d lost", b.lost)
	}
	b.told("notifications/message", `{}`) // there is nothing it could take the place of
	b.told("notifications/tools/list_changed", ``)
	got := b.rest()
	if len(got) != mostReports || got[0] != "notifications/prompts/list_changed" ||
		got[1] != `notifications/resources/updated{"uri":2}` || got[len(got)-1] != "notifications/tools/list_changed" {
		t.Errorf("%d: %q … %q", len(got), got[:3], got[len(got)-1])
	}
	if b.lost != 3 {
		t.Errorf("%d lost, want 3", b.lost)
	}
}

func TestReportsHoldABoundedNumberOfBytes(t *testing.T) {
	t.Parallel()
	var b outbox
	half := strings.Repeat(" ", mostReportBytes/2)
	for range 5 {
		b.told("notifications/message", half)
	}
	if b.reports.Len() != 1 || b.lost != 4 {
		t.Errorf("%d reports of half the bound each, %d lost", b.reports.Len(), b.lost)
	}
	b.told("notifications/message", half+half+half) // one alone may be larger
	if b.reports.Len() != 1 || len(b.rest()) != 1 || b.reportBytes != 0 {
		t.Errorf("%d reports, %d bytes", b.reports.Len(), b.reportBytes)
	}
}

func TestAnOutboxKeepsOrderFinalsAndItsBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b outbox
		sent, taken := 0, 0
		take := func() bool {
			o, ok := b.next()
			if ok && o.id != nil {
				if taken++; string(o.id) != fmt.Sprint(taken) {
					t.Fatalf("final %s leaves as the %dth", o.id, taken)
				}
			}
			return ok
		}
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0, 1, 2:
				sent++
				b.answered(fmt.Sprint(sent))
			case 3:
				b.told("notifications/tools/list_changed", ``)
			case 4, 5, 6:
				b.told("notifications/progress", fmt.Sprintf(`{"progressToken":%d}`, rapid.IntRange(0, 5).Draw(t, "token")))
			default:
				take()
			}
			if b.reports.Len() > mostReports || len(b.byKey) > b.reports.Len() || len(b.finals) > 2*(sent-taken)+65 {
				t.Fatalf("%d reports by %d keys, %d finals of %d", b.reports.Len(), len(b.byKey), len(b.finals), sent-taken)
			}
		}
		for take() {
			continue
		}
		if taken != sent || b.finalBytes != 0 || b.reportBytes != 0 || len(b.byKey) != 0 {
			t.Fatalf("%d of %d finals left; %d and %d bytes, %d keys are left over", taken, sent, b.finalBytes, b.reportBytes, len(b.byKey))
		}
	})
}
