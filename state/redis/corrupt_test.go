package redis

import (
	"strings"
	"testing"

	"junction/state"
)

// TestKeyOfAWrongType puts something of another type in the place of each key
// and expects the operations that need it to name it.
func TestKeyOfAWrongType(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	ctx := t.Context()
	read := func(th *thread) error { _, err := s.Load(ctx, th.id, 0); return err }
	for name, c := range map[string]struct {
		place int
		op    func(th *thread) error
	}{
		"thread":                {keyThread, func(th *thread) error { _, err := s.Thread(ctx, th.id); return err }},
		"thread under a script": {keyThread, func(th *thread) error { _, err := s.Renew(ctx, th.lease); return err }},
		"heads":                 {keyHeads, read},
		"heads, by a commit":    {keyHeads, func(th *thread) error { s.heads.forget(th.id); _, err := s.Commit(ctx, th.next()); return err }},
		"logs":                  {keyLogs, read},
		"values":                {keyValues, read},
		"underway":              {keyUnderway, read},
		"records":               {keyRecords, read},
		"records, by a filter":  {keyRecords, func(th *thread) error { _, err := s.Records(ctx, state.RecordFilter{Thread: th.id}); return err }},
		"blobs":                 {keyBlobs, func(th *thread) error { _, err := s.Blob(ctx, th.id, state.Hash([]byte("blob"))); return err }},
		"sessions":              {keySessions, func(th *thread) error { _, err := s.Sessions(ctx, th.id); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			th := create(t, s)
			th.t = t
			th.fill()
			must(t, s.client.Set(ctx, th.key(c.place), "intruder", 0).Err())
			err := c.op(th)
			wantErr(t, err, state.ErrCorrupt)
			if want := th.key(c.place) + " is a string"; !strings.Contains(err.Error(), want) {
				t.Errorf("the error does not say %q: %v", want, err)
			}
			must(t, s.client.Del(ctx, th.key(c.place)).Err())
		})
	}
	t.Run("a thread among many", func(t *testing.T) {
		th := create(t, s)
		must(t, s.client.Set(ctx, th.key(keyThread), "intruder", 0).Err())
		for name, op := range map[string]func() error{
			"threads": func() error { _, err := s.Threads(ctx, state.ThreadFilter{}); return err },
			"records": func() error { _, err := s.Records(ctx, state.RecordFilter{Since: unixMicro(1)}); return err },
			"prune":   func() error { _, err := s.Prune(ctx, state.Retention{}); return err },
		} {
			err := op()
			if wantErr(t, err, state.ErrCorrupt); !strings.Contains(err.Error(), th.key(keyThread)) {
				t.Errorf("%s: the error does not name %s: %v", name, th.key(keyThread), err)
			}
		}
	})
	t.Run("the index", func(t *testing.T) {
		s := open(t, Options{})
		must(t, s.client.Set(ctx, s.indexKey(), "intruder", 0).Err())
		_, listing := s.Threads(ctx, state.ThreadFilter{})
		_, creating := s.CreateThread(ctx, state.NewThread{ID: "x"})
		for _, err := range []error{listing, creating} {
			if wantErr(t, err, state.ErrCorrupt); !strings.Contains(err.Error(), s.indexKey()) {
				t.Errorf("the error does not name %s: %v", s.indexKey(), err)
			}
		}
	})
}

// TestDamagedData spoils one thing and expects its reader to say so.
func TestDamagedData(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	ctx := t.Context()
	set := func(place int, field, value string) func(*testing.T, *thread) {
		return func(t *testing.T, th *thread) { must(t, s.client.HSet(ctx, th.key(place), field, value).Err()) }
	}
	put := func(place int, index int64, value string) func(*testing.T, *thread) {
		return func(t *testing.T, th *thread) { must(t, s.client.LSet(ctx, th.key(place), index, value).Err()) }
	}
	load := func(th *thread) error { _, err := s.Load(ctx, th.id, 0); return err }
	reading := func(th *thread) error { _, err := s.Thread(ctx, th.id); return err }
	records := func(th *thread) error { _, err := s.Records(ctx, state.RecordFilter{Thread: th.id}); return err }
	const field = "1:hop:1:1"
	for name, c := range map[string]struct {
		spoil func(*testing.T, *thread)
		op    func(*thread) error
	}{
		"meta":                      {set(keyThread, "meta", "{"), reading},
		"failure":                   {set(keyThread, "failure", "{"), reading},
		"head":                      {set(keyThread, "head", "x"), reading},
		"an element that is none":   {put(keyHeads, 0, "x"), load},
		"another's place":           {put(keyHeads, 0, "2 1\n{}\n{}"), load},
		"references":                {put(keyHeads, 0, "1 1\n{\n{}"), load},
		"references of no sense":    {put(keyHeads, 0, "1 1\n{\"n\":[]}\n{}"), load},
		"rest of an element":        {put(keyHeads, 0, "1 1\n{}\n{"), load},
		"history":                   {put(keyHeads, 0, "x"), func(th *thread) error { _, err := s.Checkpoints(ctx, th.id, 0, 0); return err }},
		"head before a commit":      {put(keyHeads, 0, "x"), func(th *thread) error { s.heads.forget(th.id); _, err := s.Commit(ctx, th.next()); return err }},
		"frame of values":           {set(keyValues, "1", "\xff"), load},
		"no frame of values":        {func(t *testing.T, th *thread) { must(t, s.client.HDel(ctx, th.key(keyValues), "1").Err()) }, load},
		"frame of a log":            {put(keyLogs, 0, "\xff"), load},
		"no item of a log":          {put(keyLogs, 0, ""), load},
		"writes":                    {set(keyUnderway, "w:task", "{"), load},
		"question":                  {set(keyUnderway, "i:q", "{}"), load},
		"answer":                    {set(keyUnderway, "a:q", "now\n1"), load},
		"record":                    {set(keyRecords, field, "x"), load},
		"JSON of a record":          {set(keyRecords, field, "2 1 1 1\n{"), load},
		"record, by a filter":       {set(keyRecords, field, "x"), records},
		"record, before an outcome": {set(keyRecords, field, "x"), func(th *thread) error { return s.PutRecords(ctx, th.lease, []state.Record{th.record("hop")}) }},
		"record, before a commit": {set(keyRecords, field, "x"), func(th *thread) error {
			c := th.next()
			c.Records = []state.Record{th.record("hop")}
			_, err := s.Commit(ctx, c)
			return err
		}},
		"reference to a large value": {set(keyUnderway, "r:"+field, `={"$blob":"x"}`), load},
		"large value":                {set(keyBlobs, state.Hash([]byte("blob")), "\x07"), func(th *thread) error { _, err := s.Blob(ctx, th.id, state.Hash([]byte("blob"))); return err }},
		"session":                    {set(keySessions, "session", "{"), func(th *thread) error { _, err := s.Sessions(ctx, th.id); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			th := create(t, s)
			th.fill()
			c.spoil(t, th)
			before := contents(t, th)
			err := c.op(th)
			if wantErr(t, err, state.ErrCorrupt); !strings.Contains(err.Error(), th.id) {
				t.Errorf("the error does not name the thread: %v", err)
			}
			equal(t, "contents", contents(t, th), before)
			must(t, s.client.Del(ctx, s.threadKeys(th.id)...).Err())
		})
	}
}
