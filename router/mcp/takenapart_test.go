package mcp

import (
	"encoding/json"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

func TestAnAnswerIsTakenApartOnlyWhereItsFormLeavesNoDoubt(t *testing.T) {
	t.Parallel()
	for text, plain := range map[string]bool{
		`{"jsonrpc":"2.0","id":7,"result":{"content":[]}}`:                                 true,
		" {\n\"result\" : {\"a\":\"}\\\"]\\\\\"} , \"id\": -7, \"jsonrpc\": \"2.0\" }\r\n": true,
		`{"jsonrpc":"2.0","id":7,"result":{"a":[1,{"b":"\\"}]}}`:                           true,
		`{"jsonrpc":"2.0","id":"7","result":{}}`:                                           false,
		`{"jsonrpc":"2.0","id":7.0,"result":{}}`:                                           false,
		`{"jsonrpc":"2.0","id":7,"id":8,"result":{}}`:                                      false,
		`{"jsonrpc":"2.0","id":7,"ID":8,"result":{}}`:                                      false,
		`{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1}}`:                          false,
		`{"jsonrpc":"2.0","id":7,"result":[]}`:                                             false,
		`{"jsonrpc":"2.0","id":7,"result":null}`:                                           false,
		`{"jsonrpc":"2.0","id":7,"result":{}} {}`:                                          false,
		`{"jsonrpc":"2.0","id":7,"result":{}`:                                              false,
		`{"jsonrpc":"2.0","id":7,"result":{"a":"\"}}`:                                      false,
		`{"jsonrpc":"2.0","id":7,"method":"ping"}`:                                         false,
		`{"jsonrpc":"1.0","id":7,"result":{}}`:                                             false,
		`{"id":7,"result":{}}`:                                                             false,
		`{"jsonrpc":"2.0","id":99999999999999999999,"result":{}}`:                          false,
		`[]`: false, `{}`: false, ``: false, `{"`: false, `{"a"`: false, `{"id":`: false,
	} {
		if _, _, ok := takenApart([]byte(text)); ok != plain {
			t.Errorf("%s: taken apart %v, want %v", text, ok, plain)
		}
	}
}

// FuzzTakenApart holds what is taken apart against what encoding/json reads.
func FuzzTakenApart(f *testing.F) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"a\"b\\"}]}}`,
		`{"result":{"a":{"b":[]}},"jsonrpc":"2.0","id":-1}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		id, result, ok := takenApart(text)
		if !ok || !json.Valid(text) {
			return // whoever asked for the result reads it
		}
		var want transport.JSONRPCResponse
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if got := mcp.NewRequestId(id); got.String() != want.ID.String() || string(result) != string(want.Result) || want.Error != nil {
			t.Errorf("%s: got %v %s, want %v %s", text, id, result, want.ID, want.Result)
		}
	})
}
