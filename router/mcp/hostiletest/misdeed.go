package hostiletest

import (
	"fmt"
	"strings"
	"time"
)

// megabyte of text is what huge answers are made of, so that the server itself
// stays small.
var megabyte = strings.Repeat("x", 1<<20)

// hugeMegabytes is the size of a huge answer.
const hugeMegabytes = 200

// misbehave does a fault in place of the answer.
func (s *Server) misbehave(f Fault, m *message, v voice, answer string) {
	switch f {
	case WrongID:
		v.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s1,"result":{"content":[]}}`, m.ID))
	case NoID:
		v.say(`{"jsonrpc":"2.0","id":null,"result":{"content":[]}}`)
	case UnknownType:
		v.say(s.result(m, `{"resultType":"wish","content":[]}`))
	case NoMessage:
		v.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s}`, m.ID))
	case NoObject:
		v.say(s.result(m, `["content"]`))
	case ErrorCode:
		v.say(s.refusal(m, 4711, "no"))
	case HugeErrorCode, TextErrorCode:
		code := map[Fault]string{HugeErrorCode: "123456789012345678901234567890", TextErrorCode: `"no"`}[f]
		v.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":"no"}}`, m.ID, code))
	case LongError:
		v.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"\u001b[31m%s","data":{"more":"%s"}}}`, m.ID, megabyte+megabyte, strings.Repeat(megabyte, 6)))
	case TextError:
		v.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":"no"}`, m.ID))
	case Nested:
		v.say(s.result(m, `{"structuredContent":`+strings.Repeat("[", 1<<20)+strings.Repeat("]", 1<<20)+`}`))
	case Amplified:
		v.say(s.result(m, `{"content":[],"structuredContent":{"all":[`+strings.Repeat(`{"a":0},`, 1_900_000)+`{}]}}`))
	case NoText:
		v.say(s.result(m, "{\"content\":[{\"type\":\"text\",\"text\":\"\xff\xfe\x80\"}]}"))
	case AnotherEra:
		v.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"no","data":{"supported":["2031-01-01"]}}}`, m.ID))
	case Twice:
		v.say(answer)
		v.say(answer)
	case Silent:
		wait(v)
	case AfterCancel:
		s.answerCancelled(m, v, answer)
	case Half, HalfThenSilence, HalfThenEnd:
		half(f, m, v, answer)
	case Huge, HugeIDLast, HugeEvent:
		huge(f, m, v)
	case RefusesAnswers:
		v.say(`{"jsonrpc":"2.0","id":"ask-1","method":"ping"}`)
		select {
		case <-s.cancel("answer"):
		case <-v.gone():
		}
		<-time.After(50 * time.Millisecond) // the client sees the refusal before the answer
		v.say(answer)
	case TaskForEver, TaskGarbled:
		v.say(s.promise(m))
	case ShedsLoad:
		v.say(s.result(m, `{"resultType":"input_required","requestState":"not yet"}`))
	case AsksPeople:
		askPeople(v)
	case Redirects:
		v.misdeed(Redirects, m, s.Elsewhere)
	case Stray, Asks, FloodsProgress, FloodsThenEnds, FallingProgress, ForeignProgress:
		flood(f, m, v, answer)
	default:
		v.misdeed(f, m, answer)
	}
}

// askPeople asks and never answers.
func askPeople(v voice) {
	for n := range 10_000 {
		v.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":"ask-%d","method":"elicitation/create","params":{"message":"And?","requestedSchema":{"type":"object","properties":{}}}}`, n))
	}
	wait(v)
}

// wait ends when nobody listens any more; a child process waits until it is ended.
func wait(v voice) {
	select {
	case <-v.gone():
	case <-time.After(time.Minute):
	}
}

func (s *Server) answerCancelled(m *message, v voice, answer string) {
	select {
	case <-s.cancel(string(m.ID)):
	case <-v.gone():
	case <-time.After(time.Minute):
	}
	v.say(answer)
}

func half(f Fault, m *message, v voice, answer string) {
	v.begin(answer[:len(answer)/2])
	switch f {
	case Half:
		v.end()
	case HalfThenSilence:
		wait(v)
	case HalfThenEnd:
		v.misdeed(Dropped, m, "")
	}
}

func huge(f Fault, m *message, v voice) {
	first, last := fmt.Sprintf(`"id":%s,`, m.ID), ""
	if f == HugeIDLast {
		first, last = "", fmt.Sprintf(`,"id":%s`, m.ID)
	}
	v.begin(`{"jsonrpc":"2.0",` + first + `"result":{"content":[{"type":"text","text":"`)
	for range hugeMegabytes {
		v.begin(megabyte)
	}
	v.begin(`"}]}` + last + `}`)
	v.end()
}

// flood sends many small messages, and then the answer or nothing.
func flood(f Fault, m *message, v voice, answer string) {
	progress := func(token, at string) {
		v.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%s,"message":"step"}}`, token, at))
	}
	token := string(m.Params.Meta.Token)
	if token == "" {
		token = string(m.ID)
	}
	const many = 10_000
	switch f {
	case Stray:
		for n := range many {
			v.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`, n))
		}
	case Asks:
		for n := range many {
			v.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":"ask-%d","method":"ping"}`, n))
		}
	case FloodsThenEnds:
		for n := range many {
			progress(token, fmt.Sprint(n))
		}
	default:
		endless(v, func(n int) {
			switch f {
			case FloodsProgress:
				progress(token, fmt.Sprint(n))
			case FallingProgress:
				progress(token, fmt.Sprint(-n))
			default:
				progress(token+"7", fmt.Sprint(n))
			}
		})
		return
	}
	v.say(answer)
}

// endless sends 10,000 messages a second, at most, for as long as anybody listens,
// and for a minute at most.
func endless(v voice, send func(n int)) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	n := 0
	for end := time.After(time.Minute); ; {
		select {
		case <-tick.C:
			for range 100 {
				n++
				send(n)
			}
		case <-v.gone():
			return
		case <-end:
			return
		}
	}
}
