package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
)

// message is a message of JSON-RPC: its members as they were written.
type message map[string]json.RawMessage

func parse(text []byte) (message, error) {
	var m message
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, err
	}
	if m == nil {
		return nil, errors.New("null is no message")
	}
	return m, nil
}

func (m message) text(name string) string { return textOf(m[name]) }

// request reports whether m wants an answer.
func (m message) request() bool { return m["method"] != nil && m["id"] != nil }

// answer reports whether m is one.
func (m message) answer() bool { return m["method"] == nil && m["id"] != nil }

// errorCode is 0 where m is no error.
func (m message) errorCode() int {
	var e struct{ Code int }
	if json.Unmarshal(m["error"], &e) != nil {
		return 0
	}
	return e.Code
}

// at is what stands at a path of objects below m; nil: nothing does.
func (m message) at(path ...string) json.RawMessage {
	for ; len(path) > 1; path = path[1:] {
		var below message
		if json.Unmarshal(m[path[0]], &below) != nil {
			return nil
		}
		m = below
	}
	return m[path[0]]
}

// put returns m with a value at a path of objects that are there.
func (m message) put(value json.RawMessage, path ...string) message {
	with := make(message, len(m))
	for k, v := range m {
		with[k] = v
	}
	if len(path) > 1 {
		var below message
		if json.Unmarshal(m[path[0]], &below) != nil {
			return m
		}
		value = below.put(value, path[1:]...).line()
	}
	with[path[0]] = value
	return with
}

// line is m in one line, without its end.
func (m message) line() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(m); err != nil {
		panic(err) // raw JSON that was read before
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// number reads one of the gateway's own ids, also where it stands in quotes.
func number(raw json.RawMessage) (int64, bool) {
	n, err := strconv.ParseInt(string(bytes.Trim(raw, `"`)), 10, 64)
	return n, err == nil
}

func ownID(n int64) json.RawMessage { return strconv.AppendInt(nil, n, 10) }
