package settings

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ReadEnvFile reads NAME=value lines. Without the file there are no variables. Values are used
// unchanged, since quotes mean something else to each reader.
func ReadEnvFile(path string) (map[string]string, error) {
	content, err := os.ReadFile(path) //nolint:gosec // a file of the data directory
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	variables := map[string]string{}
	for line := range strings.Lines(string(content)) {
		line = strings.TrimRight(line, "\r\n")
		if name, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(name, "#") {
			variables[name] = value
		}
	}
	return variables, nil
}

// WriteEnvFile replaces a file of variables, each a name and a value, readable by its owner
// only. It does so in one step: a reader gets the old file or the new one, never half of one.
func WriteEnvFile(path, comment string, variables [][2]string) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	var content strings.Builder
	if comment != "" {
		content.WriteString("# " + comment + "\n")
	}
	for _, v := range variables {
		content.WriteString(v[0] + "=" + v[1] + "\n")
	}
	_, err = file.WriteString(content.String())
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
