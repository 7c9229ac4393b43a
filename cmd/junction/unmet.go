package main

import (
	"fmt"
	"slices"

	"junction/graph/workflow"
	"junction/router/static"
	"junction/state/document"
)

// unmet lists what a workflow asks for and no server of the file is declared to
// give. These are warnings: a server may offer more than the file says of it, and
// where one has no offers in the file, nothing can be told.
func unmet(wf *workflow.Workflow, config *static.Config) []document.Fault {
	if config == nil {
		return nil
	}
	var servers, capabilities []string
	open := false
	for _, s := range config.Servers {
		servers = append(servers, s.ID)
		open = open || len(s.Offers) == 0
		for _, o := range s.Offers {
			capabilities = append(capabilities, o.Capability)
		}
	}
	var all []document.Fault
	warn := func(u workflow.Use, message, word string, known []string) {
		f := document.Fault{File: wf.File, Line: u.Line, Column: u.Column, Path: "nodes." + u.Node, Message: message}
		if near := document.Suggest(word, known); near != "" {
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
