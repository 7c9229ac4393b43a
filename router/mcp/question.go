package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/url"

	"github.com/mark3labs/mcp-go/client/transport"
	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
)

// readQuestion reads an elicitation, and the task that it is part of.
func readQuestion(raw json.RawMessage) (q router.Question, task string, err error) {
	var p struct {
		Mode    string          `json:"mode"`
		Message string          `json:"message"`
		Schema  json.RawMessage `json:"requestedSchema"`
		URL     string          `json:"url"`
		Meta    struct {
			Related struct {
				Task string `json:"taskId"`
			} `json:"io.modelcontextprotocol/related-task"`
		} `json:"_meta"`
	}
	if json.Unmarshal(raw, &p) != nil {
		return q, "", errors.New("the question cannot be read")
	}
	q.Message, task = p.Message, p.Meta.Related.Task
	switch p.Mode {
	case "", "form":
		if len(p.Schema) > 0 && string(p.Schema) != "null" {
			q.Schema = p.Schema
		}
	case "url":
		u, err := url.Parse(p.URL)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return q, "", errors.New("the question's url is none that a person could open")
		}
		q.URL = p.URL
	default:
		return q, "", errors.New("the question's mode is neither form nor url")
	}
	return q, task, nil
}

// question asks a person off the reader's path, and answers the server: with
// cancel when the call ends first. The idle clock of the call stands still.
func (c *conn) question(a *asker, id protocol.RequestId, q router.Question, task string) {
	resume := a.pause()
	answers := make(chan router.QuestionAnswer, 1)
	go func() { answers <- c.put(a, q) }() // one that outlives its context is not waited for
	c.partings.Go(func() {
		defer a.open.Add(-1)
		defer resume()
		got := cancelledAnswer
		select {
		case got = <-answers:
		case <-a.ctx.Done():
		case <-c.link.gone():
			return
		}
		if a.ctx.Err() != nil { // the call ended first, whatever the person said then
			got = cancelledAnswer
		}
		ctx, cancel := context.WithTimeout(context.Background(), farewell)
		defer cancel()
		err := c.reply(ctx, transport.NewJSONRPCResultResponse(id, encodeAnswer(got, q, task, "")))
		if err != nil {
			c.log.Debug("the server was not told the answer to its question", "error", c.secrets.text(excerpt(err.Error())))
		}
	})
}

// cancelledAnswer is that of a question that nobody answered.
var cancelledAnswer = router.QuestionAnswer{Action: actionCancel}

// put asks the person. What goes wrong there cancels the question, and no more:
// the call is the server's to end.
func (c *conn) put(a *asker, q router.Question) (got router.QuestionAnswer) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("asking a person failed", "error", recovered(p).Message)
			got = cancelledAnswer
		}
	}()
	select {
	case <-a.turn:
		defer func() { a.turn <- struct{}{} }()
	case <-a.ctx.Done():
		return cancelledAnswer
	}
	got, err := a.ask(a.ctx, q)
	content := bytes.TrimSpace(got.Content)
	switch {
	case err != nil:
		c.log.Debug("a question was not answered", "error", c.secrets.text(excerpt(err.Error())))
		return cancelledAnswer
	case got.Action != actionAccept && got.Action != actionDecline,
		len(content) > 0 && (content[0] != '{' || !json.Valid(content)):
		return cancelledAnswer
	}
	return got
}

// encodeAnswer is the result of elicitation/create; task is the one that the
// question named, why the reason for which no person was asked.
func encodeAnswer(a router.QuestionAnswer, q router.Question, task, why string) json.RawMessage {
	type answer struct {
		Action  string          `json:"action"`
		Content json.RawMessage `json:"content,omitempty"`
		Meta    map[string]any  `json:"_meta,omitempty"`
	}
	out := answer{Action: a.Action, Meta: map[string]any{}}
	if a.Action == actionAccept && q.URL == "" {
		out.Content = a.Content
		if len(out.Content) == 0 {
			out.Content = json.RawMessage(`{}`)
		}
	}
	if task != "" {
		out.Meta[relatedTask] = map[string]string{"taskId": task}
	}
	if why != "" {
		out.Meta[reasonKey] = why
	}
	b, err := json.Marshal(out)
	if err != nil { // content is checked, the rest is plain text
		return json.RawMessage(`{"action":"cancel"}`)
	}
	return b
}
