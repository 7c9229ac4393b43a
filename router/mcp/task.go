package mcp

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
	"junction/state"
	"junction/state/value"
)

// Methods of tasks, and what names them. The later era has the extension
// io.modelcontextprotocol/tasks, whose tasks/get carries the result; 2025-11-25
// has tasks/result for it.
const (
	methodTaskGet    = "tasks/get"
	methodTaskResult = "tasks/result" // earlier era
	methodTaskUpdate = "tasks/update" // later era
	methodTaskCancel = "tasks/cancel"

	tasksExtension = "io.modelcontextprotocol/tasks"
	relatedTask    = "io.modelcontextprotocol/related-task"
)

// Values of a tool's execution.taskSupport that let it be called as a task.
const (
	taskRequired = "required"
	taskOptional = "optional"
)

// Statuses of a task.
const (
	taskWorking   = "working"
	taskInput     = "input_required"
	taskCompleted = "completed"
	taskFailed    = "failed"
	taskCancelled = "cancelled"
)

// longestTaskID bounds what is recorded as a task's id.
const longestTaskID = 1024

// wireTask is a task as a server tells it, of either era.
type wireTask struct {
	ID       string                        `json:"taskId"`
	Status   string                        `json:"status"`
	Message  string                        `json:"statusMessage"`
	Updated  string                        `json:"lastUpdatedAt"`
	TTLMS    *float64                      `json:"ttlMs"`
	PollMS   *float64                      `json:"pollIntervalMs"`
	TTL      *float64                      `json:"ttl"`          // earlier era, ms
	Poll     *float64                      `json:"pollInterval"` // earlier era, ms
	Requests map[string]json.RawMessage    `json:"inputRequests"`
	Result   json.RawMessage               `json:"result"`
	Error    *protocol.JSONRPCErrorDetails `json:"error"`
}

// offersTasks reports whether a server of the earlier era may be asked for a task;
// without that, what its tools say of tasks counts for nothing.
func offersTasks(capabilities json.RawMessage) bool {
	var c struct {
		Tasks struct {
			Requests struct {
				Tools struct {
					Call json.RawMessage `json:"call"`
				} `json:"tools"`
			} `json:"requests"`
		} `json:"tasks"`
	}
	call := &c.Tasks.Requests.Tools.Call
	return json.Unmarshal(capabilities, &c) == nil && len(*call) > 0 && string(*call) != "null"
}

// readTask reads the task that a server made of a call: in the later era the
// result is the task, in the earlier one it holds it.
func readTask(raw json.RawMessage, modern bool, now time.Time) (*state.RemoteTask, *router.CallError) {
	var t wireTask
	var err error
	if modern {
		err = json.Unmarshal(raw, &t)
	} else {
		err = json.Unmarshal(raw, &struct {
			Task *wireTask `json:"task"`
		}{&t})
	}
	switch {
	case err != nil:
		return nil, unknown(router.OutputInvalid, "the task cannot be read: "+excerpt(err.Error()), nil)
	case t.ID == "":
		return nil, unknown(router.OutputInvalid, "the server made a task of the call and named none", nil)
	case len(t.ID) > longestTaskID:
		return nil, unknown(router.OutputInvalid, "the task's id is longer than any that can be kept", nil)
	}
	return &state.RemoteTask{ID: t.ID, Created: now, TTL: t.ttl(), Poll: t.poll()}, nil
}

// readStatus reads the answer to tasks/get.
func readStatus(raw json.RawMessage, id string) (*wireTask, *router.CallError) {
	var t wireTask
	if err := json.Unmarshal(raw, &t); err != nil {
		return nil, unknown(router.OutputInvalid, "the task's status cannot be read: "+excerpt(err.Error()), nil)
	}
	if t.ID != id {
		return nil, unknown(router.OutputInvalid, "asked about a task, the server answered about another", nil)
	}
	return &t, nil
}

func (t *wireTask) ttl() time.Duration  { return max(milliseconds(t.TTLMS), milliseconds(t.TTL)) }
func (t *wireTask) poll() time.Duration { return max(milliseconds(t.PollMS), milliseconds(t.Poll)) }

// ended reports a status that no other follows.
func (t *wireTask) ended() bool {
	return t.Status == taskCompleted || t.Status == taskFailed || t.Status == taskCancelled
}

// sameAs reports whether a poll brought nothing new.
func (t *wireTask) sameAs(last *wireTask) bool {
	return last != nil && t.Status == last.Status && t.Message == last.Message && t.Updated == last.Updated
}

// milliseconds reads a number of a server's; what makes no sense is unsaid.
func milliseconds(ms *float64) time.Duration {
	if ms == nil || !(*ms > 0) || *ms > math.MaxInt64/float64(time.Millisecond) {
		return 0
	}
	return time.Duration(*ms * float64(time.Millisecond))
}

// How often a task is asked for. A server that says nothing of it is asked
// quickly at first, since most tasks are short, and then every usualPoll.
const (
	quickestPoll = 50 * time.Millisecond
	usualPoll    = time.Second
	slowestPoll  = 30 * time.Second
)

// pollAfter is the wait before the n-th question, n from 1. Progress is seen by
// asking only, so a call whose idle clock is shorter than the server's interval
// asks within it. The jitter makes a wait longer, never shorter: a server may
// refuse whoever asks earlier than it said.
func pollAfter(suggested, idle time.Duration, n int, seed uint64) time.Duration {
	d := min(suggested, slowestPoll)
	if suggested <= 0 {
		d = usualPoll
		if n < 6 {
			d = min(d, quickestPoll<<(n-1))
		}
	}
	d = max(min(d, idle/2), quickestPoll)
	draw := rand.New(rand.NewPCG(seed, uint64(n)))
	return d + time.Duration(draw.Int64N(int64(d/10)))
}

// taskParams are the parameters of a question about a task.
func taskParams(id string, answers []byte) ([]byte, *router.CallError) {
	b, err := value.Append([]byte(`{"taskId":`), id)
	if err != nil {
		return nil, notSent(router.OutputInvalid, "the task's id has no JSON form", err)
	}
	if answers != nil {
		b = append(append(b, `,"inputResponses":`...), answers...)
	}
	return append(b, '}'), nil
}

// asTask is the member of the earlier era's tools/call that asks for a task,
// which the server keeps for the call's own time and for a run that is resumed
// later.
func asTask(maximum time.Duration) []byte {
	b := strconv.AppendInt([]byte(`,"task":{"ttl":`), (maximum + keptAfter).Milliseconds(), 10)
	return append(b, '}')
}

// keptAfter is how long beyond a call's maximum a server is asked to keep its
// task: a run that died is resumed by another worker within it.
const keptAfter = time.Hour

// worthTask is the maximum time beyond which a call of a tool that may be called
// either way (taskSupport "optional") is made as a task: who allows more than the
// usual time expects what may outlive a connection, or this process. Other calls
// are answered at once instead of at the next poll.
const worthTask = defaultMax
