package mcp

import (
	"strings"
	"time"
)

// badge is a credential as a request carries it. It is never changed.
type badge struct {
	card    *card
	token   string
	value   []string // of the header
	scopes  []string
	asked   time.Time
	renewAt time.Time // from here on another one is fetched beside the calls; zero: never
	tooOld  time.Time // from here on calls wait for it
	ends    time.Time
}

// made is a badge with its times, reckoned from when it was asked for on our own
// clock: it is renewed after 0.7 of its life or 300 s, and waited for in its last
// 30 s, or in the last half of a life too short for that.
func (k *card) made(got issued, asked time.Time, d demand) *badge {
	b := &badge{card: k, token: got.token, scopes: got.scopes, asked: asked}
	value := got.token
	if k.header == "Authorization" {
		switch k.kind {
		case kindBearer, kindOAuth:
			value = "Bearer " + value
		case kindJWT:
			value = d.spelling(k.kind, "MCP-JWT") + " " + value
		default:
			value = d.spelling(k.kind, "ApiKey") + " " + value
		}
	}
	b.value = []string{value}
	if k.last != nil && k.kind != kindBearer && k.kind != kindOAuth && d.schemes == nil {
		b.value = []string{strings.TrimSuffix(k.last.value[0], k.last.token) + got.token} // as the server spelt it
	}
	if got.ttl > 0 {
		last := max(got.ttl-30*time.Second, got.ttl/2)
		b.renewAt = asked.Add(min(got.ttl*7/10, 300*time.Second, last))
		b.tooOld, b.ends = asked.Add(last), asked.Add(got.ttl)
	}
	if got.look > 0 {
		b.renewAt = asked.Add(got.look)
	}
	return b
}
