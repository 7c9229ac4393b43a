package static

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// FileName is the name a servers file has beside a workflow and in the user's
// configuration directory.
const FileName = "junction.yaml"

// NotFoundError says where a servers file was looked for in vain. To
// errors.Is it is fs.ErrNotExist, so a caller that can do without a servers file
// goes on.
type NotFoundError struct {
	Looked []string // paths, in order
}

func (e *NotFoundError) Error() string {
	if len(e.Looked) == 0 {
		return "no servers file, and no directory to look for one in: name one with --config"
	}
	return fmt.Sprintf("no servers file: looked for %s; write one, or name one with --config", strings.Join(e.Looked, " and "))
}

// Is makes errors.Is(err, fs.ErrNotExist) true.
func (e *NotFoundError) Is(target error) bool { return target == fs.ErrNotExist }

// Find returns the path of the servers file: the one named by flag, else
// junction.yaml beside the workflow file, else the one in the user's
// configuration directory (junction/junction.yaml under [os.UserConfigDir]). The
// working directory is never searched, because a servers file names commands to
// run and a directory one happens to stand in is not to be trusted with that. An
// empty workflow means there is none. A file that exists and cannot be reached
// is an error, not a reason to look further.
func Find(workflow, flag string) (string, error) {
	config, err := os.UserConfigDir()
	if err != nil {
		config = "" // no home: one place fewer to look
	}
	return find(workflow, flag, config)
}

func find(workflow, flag, configDir string) (string, error) {
	if flag != "" {
		if err := regular(flag); err != nil {
			return "", fmt.Errorf("servers file named by --config: %w", err)
		}
		return flag, nil
	}
	var places []string
	if workflow != "" {
		places = append(places, filepath.Join(filepath.Dir(workflow), FileName))
	}
	if configDir != "" {
		places = append(places, filepath.Join(configDir, "junction", FileName))
	}
	for _, place := range places {
		err := regular(place)
		switch {
		case err == nil:
			return place, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("servers file: %w", err)
		}
	}
	return "", &NotFoundError{Looked: places}
}

// regular reports why path cannot be read as a file: absent, a directory, or
// hidden by permissions.
func regular(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return fmt.Errorf("%s is a directory: name the file in it", path)
	}
	return err
}
