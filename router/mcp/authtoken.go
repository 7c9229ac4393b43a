package mcp

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"junction/router"
)

const (
	// maxToken bounds a token; headers of that size are refused by most servers.
	maxToken = 16 << 10
	// rereadFile is how long a token's file is not looked at again, unless the
	// server refuses what was in it.
	rereadFile = 10 * time.Second
)

// fixedToken is one that stands in the configuration.
type fixedToken string

func (t fixedToken) token(context.Context, demand) (issued, *router.CallError) {
	return issued{token: string(t)}, nil
}

func (t fixedToken) fixed() bool { return true }

// tokenFile is the path of a file that holds a token, and may hold another one
// later: a mounted secret is replaced in place.
type tokenFile string

func (f tokenFile) fixed() bool { return false }

func (f tokenFile) token(context.Context, demand) (issued, *router.CallError) {
	data, err := readBounded(string(f), maxToken)
	if err != nil {
		return issued{}, notSent(router.AuthMismatch, "the token's file cannot be read: "+excerpt(err.Error()), nil)
	}
	text := strings.TrimSpace(string(data))
	if fault := unfit(text); fault != "" {
		return issued{}, notSent(router.AuthMismatch, "the token's file "+quote(string(f))+" "+fault, nil)
	}
	return issued{token: text, look: rereadFile}, nil
}

// TokenIn is the token that a file holds now; "": none that could be shown, which a
// call says by itself.
func TokenIn(path string) string {
	held, _ := tokenFile(path).token(context.Background(), demand{})
	return held.token
}

// unfit says why a header cannot carry a token, without showing it.
func unfit(token string) string {
	switch {
	case token == "":
		return "holds none"
	case len(token) > maxToken:
		return "holds more than a token"
	case strings.ContainsFunc(token, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "holds control characters or more than one line"
	}
	return ""
}

// readBounded reads at most one byte more than limit of a regular file: anything
// else may have no end, or none yet.
func readBounded(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "read", Path: path, Err: errors.New("it is no regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit+1))
}
