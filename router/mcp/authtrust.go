package mcp

import (
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"junction/router"
)

// trusted says why u must not be asked: it is neither https nor on this machine,
// serves machine metadata, or is of none of the origins.
func trusted(u *url.URL, origins ...*url.URL) error {
	ip, err := netip.ParseAddr(u.Hostname())
	switch {
	case err == nil && router.ServesMetadata(ip):
		return errLinkLocal
	case u.Host == "" || u.User != nil || u.Fragment != "":
		return errors.New("it is not a plain URL with a host")
	case u.Scheme != "https" && !(u.Scheme == "http" && loopback(u)):
		return errors.New("it is not https")
	case !slices.ContainsFunc(origins, func(o *url.URL) bool { return sameOrigin(u, o) }):
		return errors.New("it is at another origin, which is not asked")
	}
	return nil
}

func loopback(u *url.URL) bool {
	if u == nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(u.Hostname(), "localhost")
}

func sameOrigin(a, b *url.URL) bool {
	return a != nil && b != nil && a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// within reports whether path is outer or below it.
func within(outer, path string) bool {
	outer = strings.TrimRight(outer, "/")
	return path == outer || strings.HasPrefix(path, outer+"/") || outer == ""
}
