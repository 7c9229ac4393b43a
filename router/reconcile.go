package router

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"junction/state"
	"junction/state/value"
)

// settlePrior looks at what an earlier run of this round left. An intent
// without an outcome is closed as unknown first, so that the history shows it.
// A conditional hop goes on under its key where the ledger is shared; what may
// have executed and nothing protects is asked about.
func (h *hop) settlePrior(ctx context.Context) (a state.Answer, settled bool, err error) {
	var unknown []state.Record
	bound := true
	for _, rec := range h.journaled.Prior() {
		h.last = max(h.last, rec.Attempt)
		if rec.Status == state.CallWaiting {
			h.inputs++
			if err := h.askInput(ctx, rec); err != nil {
				return a, false, err
			}
			continue
		}
		if rec.Status == state.CallOpen && rec.Remote != nil {
			var gone bool
			if a, settled, gone, err = h.resumeTask(ctx, rec); settled || err != nil {
				return a, settled, err
			}
			if !gone {
				continue
			}
		}
		if rec.Status == state.CallOpen {
			if rec, err = h.closeOpen(ctx, rec); err != nil {
				return a, false, err
			}
		}
		if rec.Status == state.CallSuccess || rec.Execution == state.NotExecuted || rec.Effect == state.Safe {
			continue
		}
		unknown = append(unknown, rec)
		bound = bound && rec.Effect == state.Conditional && rec.Ledger == unknown[0].Ledger
	}
	if len(unknown) == 0 {
		return a, false, nil
	}
	if bound {
		for _, rec := range unknown {
			h.lock.add(rec, "")
		}
		if !h.lock.forgotten(time.Now()) {
			return a, false, nil
		}
		unknown = h.lock.last()
	}
	return h.ask(ctx, unknown)
}

// closeOpen records that a worker died between an intent and its outcome.
func (h *hop) closeOpen(ctx context.Context, rec state.Record) (state.Record, error) {
	rec.Status, rec.Execution, rec.Code = state.CallError, state.Unknown, string(Transport)
	rec.Message = "the worker stopped after it meant to send and before it knew the outcome"
	rec.Duration = max(time.Since(rec.Started), 0)
	return rec, h.outcome(ctx, rec, true)
}

// verdict is a person's answer.
type verdict struct {
	Choice string          `json:"choice"`
	Result json.RawMessage `json:"result"`
}

// Choices about an unknown outcome.
const (
	choiceHappened = "happened"
	choiceAgain    = "again"
	choiceAbandon  = "abandon"
)

// asks reports whether a person can be asked.
func (h *hop) asks() bool { return !h.alone && h.journal.Asks() }

// ask puts the attempts that may have executed before a person, one after
// another. settled is true when one of them happened; false without an error
// means that none did, and the hop may be called again.
func (h *hop) ask(ctx context.Context, records []state.Record) (a state.Answer, settled bool, _ error) {
	told := false // by a person
	for _, rec := range records {
		found, known, err := h.verify(ctx, rec)
		switch {
		case err != nil:
			return a, false, err
		case known && found.happened:
			a, err = h.happened(ctx, rec, found.value, "its verify tool said that it happened")
			return a, err == nil, err
		case known:
			continue
		}
		if !h.asks() {
			return a, false, &UnknownOutcomeError{HopID: h.id(), Evidence: rec, Err: h.failureOf(rec)}
		}
		v, result, err := h.verdict(ctx, rec)
		if err != nil {
			return a, false, err
		}
		switch v.Choice {
		case choiceHappened:
			a, err = h.happened(ctx, rec, result, "a person said that it happened")
			return a, err == nil, err
		case choiceAgain:
			told = true
			// Offered only once the maximum has passed; the clock of another
			// worker may have said so a little early.
			if left := min(time.Until(rec.Started.Add(rec.Max)), rec.Max); left > 0 {
				if err := h.wait(ctx, left, nil); err != nil {
					return a, false, err
				}
			}
		case choiceAbandon:
			return a, false, &UnknownOutcomeError{HopID: h.id(), Evidence: rec, Abandoned: true, Err: h.failureOf(rec)}
		default:
			return a, false, &UnknownOutcomeError{HopID: h.id(), Evidence: rec,
				Err: fmt.Errorf("the answer %q is none of happened, again, abandon", v.Choice)}
		}
	}
	h.lock, h.open = lock{}, false
	h.tried, h.refreshed, h.paused = map[string]bool{}, false, true
	switch {
	case told:
		h.made = 0 // a person's word is leave for as many attempts as there were
	case h.made >= h.limit:
		err := h.exhausted(nil)
		if failed := h.finish(ctx, err); failed != nil {
			return a, false, errors.Join(err, failed)
		}
		return a, false, err
	}
	return a, false, nil
}

// corrections bounds how often a person is asked for a result that fits.
const corrections = 16

// verdict asks about one attempt until the answer can be used: a result that
// breaks the contract is asked for anew, since an answer that was stored cannot
// be taken back and would fail every later run as well.
func (h *hop) verdict(ctx context.Context, rec state.Record) (v verdict, result any, err error) {
	asked := fmt.Sprintf("unknown-%s-%d-%d", rec.Hop, rec.Round, rec.Attempt)
	name := asked
	var fault error
	for n := range corrections {
		if n > 0 {
			name = fmt.Sprintf("%s-corrected-%d", asked, n)
		}
		if v, err = h.question(ctx, rec, name, fault); err != nil || v.Choice != choiceHappened {
			return v, nil, err
		}
		if result, fault = h.resultOf(ctx, v.Result); fault == nil {
			return v, result, nil
		}
	}
	return v, nil, &UnknownOutcomeError{HopID: h.id(), Evidence: rec, Err: fault}
}

// question asks about one attempt. Before the attempt's maximum time has
// passed, "again" is not among the choices: the first request may still run.
// After it, the next run of the task puts the same question with all of them.
func (h *hop) question(ctx context.Context, rec state.Record, name string, fault error) (v verdict, err error) {
	// An intent from the future tells only that a clock was put right since; who
	// chooses "again" then waits for the whole maximum, see ask.
	now := time.Now()
	again := !now.Before(rec.Started.Add(rec.Max)) || rec.Started.After(now.Add(skew))
	evidence := h.evidence(rec, again)
	if fault != nil {
		evidence["fault"] = fault.Error()
		evidence["question"] = fmt.Sprintf("The result cannot be taken: %v. %s", fault, evidence["question"])
	}
	raw, err := h.journal.Ask(ctx, name, evidence, h.choices(again))
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("the answer about hop %s is not {choice, result}: %w", h.id(), err)
	}
	return v, nil
}

// evidence is what a person needs to find out whether it happened.
func (h *hop) evidence(rec state.Record, again bool) map[string]any {
	question := fmt.Sprintf("It is unknown whether %s on %s took effect. Look there, then choose: %s (with its result) · %s",
		rec.Tool, rec.Server, choiceHappened, choiceAbandon)
	if again {
		question += " · " + choiceAgain + " (it did not happen: call it again)"
	} else {
		question += fmt.Sprintf(". The call may still be under way until %s; from then on, resume the thread without an answer to be offered %q too",
			rec.Started.Add(rec.Max).UTC().Format(time.RFC3339), choiceAgain)
	}
	e := map[string]any{
		"question": question, "hop": rec.Hop, "attempt": rec.Attempt, "server": rec.Server, "endpoint": rec.Endpoint,
		"tool": rec.Tool, "effect": string(rec.Effect), "arguments": h.with, "code": rec.Code, "message": rec.Message,
		"started": rec.Started.UTC().Format(time.RFC3339Nano),
	}
	if rec.Capability != "" {
		e["capability"] = rec.Capability
	}
	if rec.Key != "" {
		e["key"], e["ledger"] = rec.Key, rec.Ledger
	}
	return e
}

// choices is the JSON Schema of the answer.
func (h *hop) choices(again bool) map[string]any {
	enum := []any{choiceHappened, choiceAbandon}
	if again {
		enum = []any{choiceHappened, choiceAgain, choiceAbandon}
	}
	return map[string]any{
		"type":                 "object",
		"required":             []any{"choice"},
		"additionalProperties": false,
		"properties": map[string]any{
			"choice": map[string]any{"enum": enum, "description": "what became of the call"},
			"result": map[string]any{"description": "with happened: the result that the call would have returned"},
		},
		"if":   map[string]any{"properties": map[string]any{"choice": map[string]any{"const": choiceHappened}}},
		"then": map[string]any{"required": []any{"result"}},
	}
}

// resultOf reads the result that a person gave, as the call would have returned
// it.
func (h *hop) resultOf(ctx context.Context, raw json.RawMessage) (any, error) {
	v, err := value.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("the result given for it: %w", err)
	}
	snapshot := h.r.discovery.Snapshot()
	if err := h.r.schemas.check(ctx, snapshot.Contracts[h.call.Capability].Output, v); err != nil {
		return nil, fmt.Errorf("the result given for it breaks the output contract of %s: %w", h.call.Capability, err)
	}
	return v, nil
}

// happened records a result on somebody's word, as an attempt of its own: the
// one whose outcome was unknown stays in the history as it was.
func (h *hop) happened(ctx context.Context, rec state.Record, v any, word string) (state.Answer, error) {
	encoded, err := value.Encode(v)
	if err != nil {
		return state.Answer{}, fmt.Errorf("the result given for hop %s: %w", h.id(), err)
	}
	h.last++
	rec.Attempt, rec.Status, rec.Execution, rec.Code, rec.Final = h.last, state.CallSuccess, state.Executed, "", true
	rec.Message, rec.Started, rec.Duration = word, time.Now(), 0
	rec.Result, rec.OutputHash, rec.Decision = encoded, state.Hash(encoded), nil
	if err := h.outcome(ctx, rec, true); err != nil {
		return state.Answer{}, err
	}
	return state.Answer{Value: v, Hop: h.id(), Server: rec.Server, Endpoint: rec.Endpoint, Session: rec.Session, Tool: rec.Tool}, nil
}

// failureOf is the error of an attempt of this run, else what its record says.
func (h *hop) failureOf(rec state.Record) error {
	for _, a := range h.attempts {
		if a.Attempt == rec.Attempt {
			return a.Err
		}
	}
	if rec.Message == "" {
		return nil
	}
	return errors.New(rec.Message)
}
