package main

import (
	"fmt"
	"maps"
	"slices"

	"junction/graph/workflow"
	"junction/router"
	"junction/router/static"
	"junction/state/document"
)

// unmet lists what a workflow asks for and no server of the file is declared to
// give. These are warnings: a server may offer more than the file says of it, and
// where one has no offers in the file, nothing can be told. In a registry anybody
// may offer anything: there, what looks misspelt is warned of alone.
func unmet(wf *workflow.Workflow, config *static.Config, registry bool) []document.Fault {
	if config == nil {
		return nil
	}
	registry = registry || config.Consul != nil
	servers, capabilities, open := declared(config)
	var all []document.Fault
	warn := func(u workflow.Use, message, word string, known []string) {
		f := document.Fault{File: wf.File, Line: u.Line, Column: u.Column, Path: "nodes." + u.Node, Message: message}
		near := document.Suggest(word, known)
		if near == "" && registry {
			return
		}
		if near != "" {
			f.Hint = fmt.Sprintf("did you mean %q?", near)
		}
		all = append(all, f)
	}
	for _, u := range wf.Uses() {
		switch {
		case u.Server != "" && !slices.Contains(servers, u.Server):
			warn(u, fmt.Sprintf("no server of %s is called %q", config.Path, u.Server), u.Server, servers)
		case u.Capability != "" && !open && !slices.Contains(capabilities, u.Capability):
			warn(u, fmt.Sprintf("no server of %s is declared to offer %q", config.Path, u.Capability), u.Capability, capabilities)
		}
	}
	return all
}

// declared are the names of the file's servers and services, and the capabilities
// that it says of them; open: it says none of one of its servers.
func declared(config *static.Config) (servers, capabilities []string, open bool) {
	offered := func(offers []router.Offer) {
		for _, o := range offers {
			capabilities = append(capabilities, o.Capability)
		}
	}
	for _, s := range config.Servers {
		servers = append(servers, s.ID)
		open = open || len(s.Offers) == 0
		offered(s.Offers)
	}
	if config.Consul == nil {
		return servers, capabilities, open
	}
	for _, name := range slices.Sorted(maps.Keys(config.Consul.Services)) {
		servers = append(servers, name)
		offered(config.Consul.Services[name].Offers)
	}
	return servers, capabilities, open
}
