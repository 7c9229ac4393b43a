package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"junction/cmd/junction/internal/view"
)

type versionCmd struct {
	JSON bool `name:"json" help:"Print one JSON document on stdout and nothing else there."`
}

func (*versionCmd) Help() string { return "Example:\n  junction version --json" }

// buildVersion is set by the linker for a release.
var buildVersion = "dev"

func (c *versionCmd) Run(_ context.Context, con console) error {
	v := struct {
		Version  string `json:"version"`
		Commit   string `json:"commit,omitempty"`
		Go       string `json:"go"`
		Platform string `json:"platform"`
	}{Version: buildVersion, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Commit = s.Value
			}
		}
	}
	if c.JSON {
		return view.JSON(con.out, v)
	}
	_, err := fmt.Fprintf(con.out, "junction %s (%s, %s)\n", v.Version, v.Go, v.Platform)
	return err
}
