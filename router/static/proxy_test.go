package static_test

import (
	"strings"
	"testing"
	"time"

	"junction/router/static"
)

func TestWhatABridgeGoesByIsRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]static.Proxy{
		"{}": {},
		"{ping_interval: 10s, ping_timeout: 2500, queue: 7, wait: 1m}": {
			PingInterval: 10 * time.Second, PingTimeout: 2500 * time.Millisecond, Queue: 7, Wait: time.Minute,
		},
		"{ping_interval: 0}":     {PingInterval: -1},
		"{ping_interval: 20000}": {PingInterval: 20 * time.Second},
	} {
		c, err := static.Parse("j.yaml", []byte("proxy: "+text+"\n"), nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if c.Proxy != want {
			t.Errorf("%s: %+v, want %+v", text, c.Proxy, want)
		}
	}
	for text, want := range map[string]string{
		"{ping_timeout: 0}":      "j.yaml:1:",
		"{ping_interval: -5}":    "whole number",
		"{ping_interval: often}": "no length of time",
		"{queue: 0}":             "whole number",
		"{wait: 1.5}":            "whole number",
		"{pingInterval: 5s}":     "ping_interval",
	} {
		_, err := static.Parse("j.yaml", []byte("proxy: "+text+"\n"), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
