package hostiletest

import "fmt"

// taskCapabilities are what a server says that makes tasks; "": it does not.
func (s *Server) taskCapabilities() string {
	switch {
	case !s.Fault.tasks():
		return ""
	case s.Modern:
		return `,"extensions":{"io.modelcontextprotocol/tasks":{}}`
	}
	return `,"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}`
}

// task is what the server tells of the only task it ever makes.
func (s *Server) task() string {
	ttl, poll := "ttl", "pollInterval"
	if s.Modern {
		ttl, poll = "ttlMs", "pollIntervalMs"
	}
	return fmt.Sprintf(`"taskId":"task-1","status":"working","createdAt":"2026-07-28T10:00:00Z","lastUpdatedAt":"2026-07-28T10:00:00Z",%q:60000,%q:1`, ttl, poll)
}

// promise answers a call with a task.
func (s *Server) promise(m *message) string {
	if s.Modern {
		return s.result(m, `{"resultType":"task",`+s.task()+`}`)
	}
	return s.result(m, `{"task":{`+s.task()+`}}`)
}

// aboutTask answers tasks/*; "": it does not answer.
func (s *Server) aboutTask(m *message) string {
	if _, err := s.tell("/poll", m); err != nil {
		return s.refusal(m, -32603, err.Error())
	}
	switch {
	case m.Method == "tasks/result":
		return "" // it blocks until the end
	case m.Method == "tasks/cancel" && s.Modern:
		return s.result(m, `{"resultType":"complete"}`)
	case s.Fault == TaskGarbled:
		return s.result(m, `{"taskId":7,"status":["working"]}`)
	}
	return s.result(m, `{`+s.task()+`}`)
}
