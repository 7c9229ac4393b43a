//go:build unix

package deploy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"
)

// dead tells Consul of an instance of a service at a port where nobody listens.
func dead(t *testing.T, consul string, port int) {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"ID": fmt.Sprintf("dead-%d", port), "Name": "review-python-v2", "Address": "127.0.0.1", "Port": port,
		"Tags": []string{"mcp", "code-review", "language=python", "review_depth=deep"}, "Meta": map[string]string{"mcp-path": "/mcp"},
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, consul+"/v1/agent/service/register", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		t.Fatalf("Consul: %s", a.Status)
	}
}

// firing are the alerts that fire, with their severity.
func (p prometheus) firing() (all []string) {
	p.t.Helper()
	var answer struct {
		Data struct {
			Alerts []struct {
				State  string
				Labels map[string]string
			}
		}
	}
	p.get("/api/v1/alerts", nil, &answer)
	for _, a := range answer.Data.Alerts {
		if a.State == "firing" {
			all = append(all, a.Labels["alertname"]+" "+a.Labels["severity"])
		}
	}
	return all
}

// alarmed waits until an alert fires.
func alarmed(t *testing.T, p prometheus, alert string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		firing := p.firing()
		if slices.Contains(firing, alert) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Errorf("%s does not fire; firing: %v", alert, firing)
			return
		}
	}
}
