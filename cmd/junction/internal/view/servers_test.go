package view

import (
	"errors"
	"strings"
	"testing"

	"junction/router"
)

// What is known of Consul's servers while it is away is shown as last known, and
// those of the file are not.
func TestServersShowsWhereAServerIsFromAndWhatIsLastKnown(t *testing.T) {
	t.Parallel()
	statuses := []router.ServerStatus{
		{Server: &router.Server{ID: "fixed", Name: "fixed", Source: "file", Dial: router.Dial{URL: "http://10.0.0.1/mcp"}}, Err: errors.New("it is off")},
		{Server: &router.Server{ID: "r-1", Name: "review\x1b[2J", Source: "consul", Weight: 3, Dial: router.Dial{URL: "http://10.0.0.2/mcp"}}, Description: &router.Description{}},
	}
	for _, c := range []struct {
		name  string
		stale bool
		want  string
	}{
		{"while Consul is read", false, "    in Consul: service review[2J, weight 3\n"},
		{"while it is away", true, "    in Consul: service review[2J, weight 3, as last known: Consul cannot be read now\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			list := NewServers(statuses, c.stale)
			var out strings.Builder
			if err := Servers(&out, list, "none", Style{}); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), c.want) || strings.Count(out.String(), "in Consul") != 1 {
				t.Errorf("printed\n%s\nwant once\n%s", out.String(), c.want)
			}
			if list[0].Stale || list[0].Service != "" || list[1].Stale != c.stale {
				t.Errorf("%+v", list)
			}
		})
	}
}
