package gateway_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

// playing makes the test binary the server behind a gateway.
const playing = "play-server"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == playing {
		play()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

type called struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Code      int             `json:"code"`
		RequestID json.RawMessage `json:"requestId"`
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
}

// play is a server with a method for each thing that is to be seen, one at a time.
func play() {
	var held *called
	cancels, asking := 0, ""
	say := func(format string, args ...any) { fmt.Printf(`{"jsonrpc":"2.0",`+format+"}\n", args...) }
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var m called
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			continue
		}
		result := func(raw string) { say(`"id":%s,"result":%s`, m.ID, raw) }
		switch m.Method {
		case "": // the answer to the question
			say(`"id":%s,"result":{"said":%s}`, asking, m.Result)
		case "initialize", "pid":
			result(`{"pid":` + strconv.Itoa(os.Getpid()) + `}`)
		case "echo":
			result(lines.Text())
		case "pair": // the first is answered after the second
			if held == nil {
				held = &m
				continue
			}
			result(`"` + m.Params.Name + `"`)
			say(`"id":%s,"result":"%s"`, held.ID, held.Params.Name)
		case "tell":
			say(`"method":"notifications/progress","params":{"progress":1.50,"progressToken":%s}`, m.Params.Meta.Token)
			say(`"method":"notifications/message","params":{"data":"<&>"}`)
			result(`{}`)
		case "ask":
			asking = string(m.ID)
			say(`"id":"q-1","method":"sampling/createMessage","params":{}`)
		case "change":
			say(`"method":"notifications/tools/list_changed"`)
			result(`{}`)
		case "subscriptions/listen":
			say(`"method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}`, m.ID)
		case "notifications/cancelled":
			cancels++
		case "cancels":
			result(strconv.Itoa(cancels))
		case "tools/list":
			result(`{"tools":[{"name":"t","inputSchema":{"properties":{"a":{"x-mcp-header":"A"},"b":{}}}}]}`)
		case "fail":
			say(`"id":%s,"error":{"code":%d,"message":"no"}`, m.ID, m.Params.Code)
		case "die":
			return
		default:
			result(`{}`)
		}
	}
}
