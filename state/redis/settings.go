package redis

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settings are what may stand after the ? of an address.
var settings = map[string]func(t *target, value string) error{
	"prefix":      func(t *target, v string) error { t.prefix = v; return checkPrefix(v) },
	"ca":          func(t *target, v string) error { t.ca = v; return nil },
	"cert":        func(t *target, v string) error { t.cert = v; return nil },
	"key":         func(t *target, v string) error { t.key = v; return nil },
	"server_name": func(t *target, v string) error { t.certifiedAs = v; return nil },
	"tls":         (*target).setTLS,
	"password_file": func(t *target, v string) error {
		if t.password != "" {
			return errors.New("the address has a password already: leave one out")
		}
		var err error
		t.password, err = secretFile("password_file", v)
		return err
	},
	"sentinel_user": func(t *target, v string) error { t.watchUser = v; return t.watched() },
	"sentinel_password_file": func(t *target, v string) error {
		if err := t.watched(); err != nil {
			return err
		}
		var err error
		t.watchPassword, err = secretFile("sentinel_password_file", v)
		return err
	},
	"keep": func(t *target, v string) error {
		n, err := strconv.ParseUint(v, 10, 31)
		if err != nil || n == 0 {
			return fmt.Errorf("%q is no number of checkpoints from 1 on", v)
		}
		t.keep = int(n)
		return nil
	},
	"timeout": func(t *target, v string) error { return setDuration(&t.timeout, v) },
	"retry": func(t *target, v string) error {
		if v == "0" || v == "0s" {
			t.retry = -1 // not at all
			return nil
		}
		return setDuration(&t.retry, v)
	},
}

// readQuery reads "name=value&name=value". An unknown name may be part of a
// password: it is quoted only when it looks like a name.
func (t *target) readQuery(query string) error {
	if query == "" {
		return nil
	}
	seen := map[string]bool{}
	for pair := range strings.SplitSeq(query, "&") {
		name, raw, _ := strings.Cut(pair, "=")
		set := settings[name]
		if set == nil {
			return fmt.Errorf("setting %s is unknown: there are %s", quoteName(name), strings.Join(settingNames(), ", "))
		}
		value, err := url.QueryUnescape(raw)
		if err != nil {
			return fmt.Errorf("setting %s has a %% that no two hex digits follow: write %%25", name)
		}
		if value == "" {
			return fmt.Errorf("setting %s has no value", name)
		}
		if seen[name] {
			return fmt.Errorf("setting %s is given twice", name)
		}
		seen[name] = true
		if err := set(t, value); err != nil {
			return fmt.Errorf("setting %s: %w", name, err)
		}
	}
	if !t.tls && (t.ca != "" || t.cert != "" || t.key != "" || t.certifiedAs != "") {
		return errors.New("settings ca, cert, key and server_name are for TLS: write rediss://, or tls=true for a cluster or sentinels")
	}
	if (t.cert == "") != (t.key == "") {
		return errors.New("settings cert and key go together")
	}
	return nil
}

// quoteName keeps what can be no setting's name out of messages.
func quoteName(name string) string {
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_-") != "" || len(name) > 24 {
		return "after ?"
	}
	return strconv.Quote(name)
}

func settingNames() []string { return slices.Sorted(maps.Keys(settings)) }

func (t *target) setTLS(value string) error {
	on, err := strconv.ParseBool(value)
	switch {
	case err != nil:
		return fmt.Errorf("%q is neither true nor false", value)
	case t.form == single && on:
		return errors.New("write rediss://")
	case t.form == secure && !on:
		return errors.New("write redis://")
	}
	t.tls = on
	return nil
}

// watched refuses what only sentinels have.
func (t *target) watched() error {
	if t.form != sentinel {
		return errors.New("only redis-sentinel:// has sentinels")
	}
	return nil
}

func setDuration(to *time.Duration, value string) error {
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		return fmt.Errorf("%q is no time such as 5s or 500ms", value)
	}
	*to = d
	return nil
}

// checkPrefix refuses what would break the hash tags or the patterns of keys.
func checkPrefix(prefix string) error {
	bad := func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`{}*?[]\`, r) }
	if prefix == "" || len(prefix) > 100 || strings.ContainsFunc(prefix, bad) {
		return fmt.Errorf("%q begins no key: 1 to 100 characters, no spaces and none of { } * ? [ ] \\", prefix)
	}
	return nil
}
