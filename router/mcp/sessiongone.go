package mcp

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
)

// sessionGone are the words with which servers that do not use 404 say that
// they do not know a session. They count only beside a status that refuses a request
// before work, for one that named a session.
var sessionGone = regexp.MustCompile(`(?i)session[^.]{0,40}(not found|expired|invalid|unknown|terminated|closed)|(no valid|invalid|unknown|expired|missing)[^.]{0,20}session|not initialized`)

// sessionUnknown is all of the first sentence of a 503 that says so. That status may
// also be a proxy's, whose session with the server broke, or tell of another session in
// the middle of a call: the words are the one sign that nothing was executed.
var sessionUnknown = regexp.MustCompile(`(?i)^(?:(?:service unavailable|not found|bad request|invalid request|error): *)?(?:` +
	`(?:the )?(?:mcp[ -])?session(?:[ -]id)?(?: ["']?[\w.*-]*[\d*][\w.*-]*["']?)? (?:is |was |has )?(?:not found|not known|unknown|expired)(?: or (?:has )?expired)?(?: on this (?:\w+ )?(?:instance|server|replica|node))?` +
	`|(?:no valid|no such|unknown|expired|invalid or expired) (?:mcp[ -])?session(?:[ -]id)?(?: provided)?)$`)

// sessionLost says whether the status, and where it may mean other things too the
// server's words, are that it does not know the session that the request named: it did
// nothing then.
func (x *exchange) sessionLost() bool {
	if !x.session {
		return false
	}
	switch x.status {
	case http.StatusNotFound:
		return true
	case http.StatusBadRequest, http.StatusGone:
		return sessionGone.Match(x.body)
	case http.StatusServiceUnavailable:
		return sessionUnknown.MatchString(sentence(refusalText(x.body)))
	}
	return false
}

// refusalText is what a refusal says: text, or the message of an error in JSON. One that
// names a request's id answers that, so that its words are of the request.
func refusalText(body []byte) string {
	var m struct {
		ID      json.RawMessage `json:"id"`
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	if json.Unmarshal(body, &m) != nil {
		return string(body)
	}
	var e struct {
		Message string `json:"message"`
	}
	var text string
	switch {
	case !absent(m.ID):
		return ""
	case json.Unmarshal(m.Error, &text) == nil && text != "":
		return text
	case json.Unmarshal(m.Error, &e) == nil && e.Message != "":
		return e.Message
	}
	return m.Message
}

// sentence is the first of a text.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	for _, end := range []string{". ", "; ", "! ", "\n"} {
		text, _, _ = strings.Cut(text, end)
	}
	return strings.TrimRight(text, ".!; ")
}
