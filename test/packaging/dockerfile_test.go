package packaging

import (
	"debug/elf"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"waybill/configs"
	"waybill/test/program"
)

// instruction is one of a Dockerfile, its lines joined.
type instruction struct{ name, rest string }

// parseDockerfile splits into stages, each beginning with its FROM; what stands
// before the first FROM is the first one.
func parseDockerfile(text string) [][]instruction {
	stages := [][]instruction{{}}
	joined := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if more, ok := strings.CutSuffix(line, `\`); ok {
			joined += strings.TrimSpace(more) + " "
			continue
		}
		name, rest, _ := strings.Cut(joined+line, " ")
		joined = ""
		if name == "FROM" {
			stages = append(stages, nil)
		}
		last := len(stages) - 1
		stages[last] = append(stages[last], instruction{name, strings.TrimSpace(rest)})
	}
	return stages
}

// of lists the arguments of an instruction in a stage.
func of(stage []instruction, name string) []string {
	var found []string
	for _, i := range stage {
		if i.name == name {
			found = append(found, i.rest)
		}
	}
	return found
}

var mount = regexp.MustCompile(`--mount=\S+\s*`)

// followDockerfile does what the first stage does and returns the program. It builds
// here, where what is compiled is at hand, once it is sure that a copy of what
// Docker would be sent has the same files.
func followDockerfile(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "configs", "Dockerfile"))
	if err != nil {
		return "", err
	}
	ignored, err := os.ReadFile(filepath.Join(root, "configs", "Dockerfile.dockerignore"))
	if err != nil {
		return "", err
	}
	src, out := filepath.Join(dir, "src"), filepath.Join(dir, "out")
	stages := parseDockerfile(string(text))
	if len(stages) != 3 {
		return "", fmt.Errorf("%d stages, want one that builds and one that runs", len(stages)-1)
	}
	for _, step := range stages[1] {
		switch step.name {
		case "COPY":
			arguments := strings.Fields(step.rest)
			for _, from := range arguments[:len(arguments)-1] {
				if err := copyContext(from, src, patterns(string(ignored))); err != nil {
					return "", err
				}
			}
		case "RUN":
			if !strings.Contains(step.rest, "go build") {
				continue // what it downloads is here
			}
			line := strings.ReplaceAll(mount.ReplaceAllString(step.rest, ""), " /out/", " "+out+"/")
			here, err := compiled(root)
			if err != nil {
				return "", err
			}
			if there, err := compiled(src); err != nil || there != here {
				return "", fmt.Errorf("Docker would be sent other files: %v\n%s\nwhere there are\n%s", err, there, here)
			}
			cmd := exec.Command("sh", "-euc", line)
			cmd.Dir = root
			cmd.Env = program.Environment("VERSION="+builtVersion, "TARGETOS="+runtime.GOOS, "TARGETARCH="+runtime.GOARCH)
			if output, err := cmd.CombinedOutput(); err != nil {
				return "", fmt.Errorf("%s: %w\n%s", line, err, output)
			}
		}
	}
	return filepath.Join(out, "waybill"), nil
}

// compiled lists the files of which the program is made, by package. Where one that
// is embedded is missing there is an error.
func compiled(dir string) (string, error) {
	cmd := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}} {{.GoFiles}} {{.EmbedFiles}}{{end}}",
		"./cmd/waybill")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// patterns are those of a .dockerignore, as far as ours goes: no exceptions.
func patterns(text string) []*regexp.Regexp {
	var all []*regexp.Regexp
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "/")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		expression := strings.NewReplacer(`\*\*/`, `(.*/)?`, `\*`, `[^/]*`).Replace(regexp.QuoteMeta(line))
		all = append(all, regexp.MustCompile(`^`+expression+`(/|$)`))
	}
	return all
}

// copyContext copies what Docker would be sent of a file or folder.
func copyContext(from, to string, ignored []*regexp.Regexp) error {
	return filepath.WalkDir(filepath.Join(root, from), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		if relative != "." && slices.ContainsFunc(ignored, func(p *regexp.Regexp) bool { return p.MatchString(relative) }) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		target := filepath.Join(to, relative)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o644)
	})
}

func TestTheProgramOfTheImageIsStaticAndNamesItsVersion(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(binary, "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "waybill "+builtVersion+" ") {
		t.Errorf("waybill version: %v %s, want %s", err, out, builtVersion)
	}
	if runtime.GOOS != "linux" {
		t.Skip("programs of " + runtime.GOOS + " are never static; the image is of Linux")
	}
	program, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	for _, segment := range program.Progs {
		if segment.Type == elf.PT_INTERP {
			t.Error("the program needs a dynamic linker, and the image has none")
		}
	}
	info, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the program is %.1f MB", float64(info.Size())/1e6)
	if program.Section(".symtab") != nil || program.Section(".debug_info") != nil {
		t.Error("the program holds what only debuggers read")
	}
}

func TestTheImageRunsWhatThereIs(t *testing.T) {
	t.Parallel()
	stages := parseDockerfile(read(t, "Dockerfile"))
	image := stages[2]
	one := func(name string) string {
		found := of(image, name)
		if len(found) != 1 {
			t.Fatalf("%s: %q, want one in the last stage", name, found)
		}
		return found[0]
	}
	copied := strings.Fields(one("COPY"))
	program := copied[len(copied)-1]
	if copied[0] != "--from=build" || copied[1] != "/out/waybill" {
		t.Errorf("the image gets %q", copied)
	}
	if user := one("USER"); !regexp.MustCompile(`^[1-9][0-9]*:[1-9][0-9]*$`).MatchString(user) {
		t.Errorf("USER %s is not a number above 0", user)
	}
	if base := strings.Join(of(stages[0], "ARG"), "\n"); !strings.Contains(base, "BASE=gcr.io/distroless/static-") {
		t.Errorf("the base has no certificates: %s", base)
	}
	for _, arg := range of(stages[0], "ARG") {
		if _, image, _ := strings.Cut(arg, "="); !digest.MatchString(image) {
			t.Errorf("%s is another image tomorrow", arg)
		}
	}
	if strings.Contains(read(t, "Dockerfile"), "# syntax=") {
		t.Error("a frontend is fetched by its tag")
	}
	for _, name := range []string{"ENTRYPOINT", "CMD"} {
		if err := execForm(one(name), program); err != "" {
			t.Errorf("%s: %s", name, err)
		}
	}
	check, _, _ := strings.Cut(one("HEALTHCHECK"), "CMD")
	if !strings.Contains(check, "--timeout=5s") {
		t.Errorf("HEALTHCHECK %s: the program takes up to 3 s to answer", check)
	}
	command := arguments(t, strings.TrimPrefix(one("HEALTHCHECK"), check+"CMD"))
	if len(command) < 2 || command[0] != program {
		t.Fatalf("HEALTHCHECK runs %q, and the program is %s", command, program)
	}
	for _, words := range [][]string{command[1:], arguments(t, one("CMD"))} {
		if problem := isCommand(t, words...); problem != "" {
			t.Error(problem)
		}
	}
	variables := map[string]string{}
	for _, pair := range strings.Fields(one("ENV")) {
		name, value, _ := strings.Cut(pair, "=")
		variables[name] = value
	}
	odd, settings := accepted(t, variables)
	if len(odd) > 0 || len(settings) != len(variables) {
		t.Errorf("ENV %v: %q; settings %v", variables, odd, settings)
	}
	if want := strings.Join(defaultPorts(t), " "); one("EXPOSE") != want {
		t.Errorf("EXPOSE %s, and the program listens on %s", one("EXPOSE"), want)
	}
	for name, value := range settings {
		if want := "0.0.0.0:" + portOf(defaults(t)[name]); value != want {
			t.Errorf("%s is %s in the image, want %s", name, value, want)
		}
	}
	for _, label := range []string{"title", "description", "version", "revision"} {
		if !strings.Contains(one("LABEL"), "org.opencontainers.image."+label+"=") {
			t.Errorf("no label org.opencontainers.image.%s", label)
		}
	}
}

// execForm reports why an instruction is not a JSON list that begins with the
// program or a word; a shell would swallow SIGTERM, and the image has none.
func execForm(text, program string) string {
	var words []string
	if err := json.Unmarshal([]byte(text), &words); err != nil || len(words) == 0 {
		return text + " is not in exec form"
	}
	if strings.HasPrefix(words[0], "/") && words[0] != program {
		return words[0] + " is not there; the program is " + program
	}
	return ""
}

func arguments(t *testing.T, text string) (words []string) {
	t.Helper()
	if err := json.Unmarshal([]byte(strings.TrimSpace(text)), &words); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return words
}

func defaults(t *testing.T) map[string]string {
	t.Helper()
	c, err := configs.Load(configs.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, s := range c.Settings() {
		all[s.Name] = s.Default
	}
	return all
}

func portOf(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

func defaultPorts(t *testing.T) []string {
	d := defaults(t)
	return []string{portOf(d["live_addr"]), portOf(d["sandbox_addr"]), portOf(d["ops_addr"]), portOf(d["portal_addr"])}
}
