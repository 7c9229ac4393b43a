package value

import (
	"errors"
	"fmt"
	"strconv"
)

// PathError says where in a value something has no exact JSON form.
type PathError struct {
	Path string // such as findings[3].id; "" is the value itself
	Err  error
}

func (e *PathError) Error() string {
	if e.Path == "" {
		return e.Err.Error()
	}
	return e.Path + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *PathError) Unwrap() error { return e.Err }

// SyntaxError reports text that is not JSON.
type SyntaxError struct {
	Offset int // in bytes, where reading stopped
	Msg    string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("not JSON: %s at byte %d", e.Msg, e.Offset) }

func failf(format string, args ...any) error {
	return &PathError{Err: fmt.Errorf(format, args...)}
}

var errDepth = fmt.Errorf("nested more than %d deep (or it contains itself)", MaxDepth)

// under puts a path step before the path of err.
func under(step string, err error) error {
	var p *PathError
	if !errors.As(err, &p) {
		return err
	}
	path := p.Path
	if path != "" && path[0] != '[' {
		path = "." + path
	}
	return &PathError{Path: step + path, Err: p.Err}
}

func underIndex(i int, err error) error { return under("["+strconv.Itoa(i)+"]", err) }

func underKey(k string, err error) error { return under(Key(k), err) }

// Key writes an object's key as a path step: bare where it reads as a name,
// else quoted in brackets.
func Key(k string) string {
	if k == "" {
		return `[""]`
	}
	for i, r := range k {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r != '-' && (r < '0' || r > '9')) {
			return "[" + strconv.Quote(k) + "]"
		}
	}
	return k
}
