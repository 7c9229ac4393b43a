package diagnose

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"junction/router"
)

// clean is text of others on one line of bounded length, fit for a terminal.
func clean(s string) string {
	const most = 300
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return s
}

func quoted(s string) string { return strconv.Quote(clean(s)) }

// brief is a length of time the way people read it.
func brief(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(millis(d), 'f', 1, 64) + "ms"
	case d < 10*time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// ago is a length of time in its largest unit.
func ago(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return strconv.Itoa(int(d.Hours()/24)) + " days"
	case d >= 2*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " hours"
	case d >= 2*time.Minute:
		return strconv.Itoa(int(d.Minutes())) + " minutes"
	}
	return strconv.Itoa(int(d.Seconds())) + " seconds"
}

func count(n int) string { return strconv.Itoa(n) }

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// some are the first of many names.
func some(all []string) string {
	const most = 6
	if len(all) > most {
		return strings.Join(all[:most], ", ") + " and " + strconv.Itoa(len(all)-most) + " more"
	}
	return strings.Join(all, ", ")
}

// portOf is the port of a URL.
func portOf(u *url.URL) uint16 {
	if n, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
		return uint16(n)
	}
	if u.Scheme == "https" {
		return 443
	}
	return 80
}

// bareURL is a URL without what may be a credential.
func bareURL(u *url.URL) string {
	return clean((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String())
}

// bare is err without the URL of the request.
func bare(err error) error {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		return ue.Err
	}
	return err
}

// sayErr is a failure of package mcp without the words that say which server it is.
func sayErr(err error) string {
	e, ok := errors.AsType[*router.CallError](err)
	if !ok {
		return err.Error()
	}
	text := e.Message
	if _, rest, found := strings.Cut(text, ", description: "); found && strings.HasPrefix(text, "server ") {
		text = rest
	}
	return text
}
