package bridge

import (
	"bytes"
	"encoding/json"
	"iter"
	"unicode/utf8"

	"junction/router/mcp"
)

// envelope is a message of JSON-RPC taken apart, each member as it was written; nil:
// it is not there.
type envelope struct {
	version, id, method, params, result, fault json.RawMessage

	twice bool // one of them is there more than once: which of the two is meant?
}

// takeApart takes apart an object, which must be valid JSON. Nothing is copied.
func takeApart(object []byte) (e envelope) {
	for name, value := range members(object) {
		var part *json.RawMessage
		switch string(name) {
		case "jsonrpc":
			part = &e.version
		case "id":
			part = &e.id
		case "method":
			part = &e.method
		case "params":
			part = &e.params
		case "result":
			part = &e.result
		case "error":
			part = &e.fault
		default:
			continue
		}
		e.twice = e.twice || *part != nil
		*part = value
	}
	return e
}

// append adds e to buf as a line.
func (e *envelope) append(buf []byte) []byte {
	buf = append(buf, `{"jsonrpc":"2.0"`...)
	member := func(name string, value json.RawMessage) {
		if value != nil {
			buf = append(append(buf, name...), value...)
		}
	}
	member(`,"id":`, e.id)
	member(`,"method":`, e.method)
	member(`,"params":`, e.params)
	member(`,"result":`, e.result)
	member(`,"error":`, e.fault)
	return append(buf, '}', '\n')
}

// size is what e takes in memory, about.
func (e *envelope) size() int {
	return 200 + len(e.id) + len(e.method) + len(e.params) + len(e.result) + len(e.fault)
}

// longestID is the longest id that is taken, in bytes.
const longestID = 4096

var null = json.RawMessage("null")

// identifies says that raw is an id as the protocol knows them: text or a number.
func identifies(raw json.RawMessage) bool {
	return len(raw) > 0 && len(raw) <= longestID && utf8.Valid(raw) &&
		(raw[0] == '"' || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}

// text is the value of a JSON string; false: raw is none.
func text(raw json.RawMessage) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), true
	}
	var s string
	return s, json.Unmarshal(raw, &s) == nil
}

// oneLine is a JSON text as it may stand in a line of the protocol: without line ends
// between its tokens and in valid UTF-8. false: it is no JSON.
func oneLine(raw json.RawMessage) (json.RawMessage, bool) {
	if !json.Valid(raw) {
		return nil, false
	}
	if bytes.IndexByte(raw, '\n') >= 0 || bytes.IndexByte(raw, '\r') >= 0 {
		var b bytes.Buffer
		if json.Compact(&b, raw) != nil {
			return nil, false
		}
		raw = b.Bytes()
	}
	if !utf8.Valid(raw) { // as encoding/json does with it
		raw = bytes.ToValidUTF8(raw, []byte("\ufffd"))
	}
	return raw, true
}

// fault is an error as it is written to the client.
func fault(e *mcp.RPCError) json.RawMessage {
	raw, err := json.Marshal(e)
	if err != nil { // its data is no JSON
		raw, err = json.Marshal(&mcp.RPCError{Code: e.Code, Message: e.Message})
	}
	raw, ok := oneLine(raw)
	if err != nil || !ok {
		return json.RawMessage(`{"code":-32603,"message":"the error has no JSON form"}`)
	}
	return raw
}

// member is one member of an object that is valid JSON; nil: it has none.
func member(object json.RawMessage, name string) json.RawMessage {
	if len(object) == 0 || object[0] != '{' {
		return nil
	}
	for n, value := range members(object) {
		if string(n) == name {
			return value
		}
	}
	return nil
}

// members yields the names and values of an object that is valid JSON and begins with
// its brace.
func members(object []byte) iter.Seq2[[]byte, json.RawMessage] {
	return func(yield func([]byte, json.RawMessage) bool) {
		at := pastSpace(object, 1)
		for at < len(object) && object[at] == '"' {
			end := pastValue(object, at)
			name := object[at+1 : end-1]
			if bytes.IndexByte(name, '\\') >= 0 {
				s, _ := text(object[at:end])
				name = []byte(s)
			}
			at = pastSpace(object, pastSpace(object, end)+1) // the colon
			end = pastValue(object, at)
			if !yield(name, object[at:end:end]) {
				return
			}
			at = pastSpace(object, pastSpace(object, end)+1) // the comma
		}
	}
}

func pastSpace(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n') {
		at++
	}
	return at
}

// pastValue is where the value ends that begins at a place of valid JSON.
func pastValue(text []byte, at int) int {
	depth := 0
	for at < len(text) {
		switch text[at] {
		case '"':
			if at = pastString(text, at); depth == 0 {
				return at
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth <= 1 {
				return at + depth // of a number it is not its own
			}
			depth--
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return at
			}
		}
		at++
	}
	return at
}

func pastString(text []byte, at int) int {
	for at++; ; at++ {
		i := bytes.IndexByte(text[at:], '"')
		if i < 0 {
			return len(text)
		}
		at += i
		slashes := 0
		for text[at-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return at + 1
		}
	}
}
