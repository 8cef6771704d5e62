package packaging

import (
	"cmp"
	"debug/elf"
	"debug/gosym"
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// mostBytes is what the program may have: what it has, and a little to grow.
const mostBytes = 45_000_000

// weights lists the packages that are linked, heaviest first, with the KiB of their code.
const weights = "testdata/weights.txt"

var update = flag.Bool("update", false, "write "+weights+" as the program is today")

// A program that is too large says which packages grew since the list was written:
//
//	go test ./test/packaging -run TestTheProgramIsSmall -update
//
// writes it anew, after the limit was looked at.
func TestTheProgramIsSmall(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the limit is that of linux/amd64")
	}
	code := map[string]int{}
	for _, f := range functions(t) {
		if name := f.PackageName(); name != "" { // what compares and hashes types has none
			code[name] += int(f.End - f.Entry)
		}
	}
	if *update {
		write(t, code)
	}
	info, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() <= mostBytes {
		return
	}
	t.Errorf("the program has %.1f MB, at most %.1f are allowed; what grew most, in KiB of code, each of which takes two:\n%s",
		float64(info.Size())/1e6, mostBytes/1e6, strings.Join(grown(t, code), "\n"))
}

// The linker leaves out methods that nothing calls, unless a function that can be reached
// calls methods by a name that is known at run time only. This one nothing calls.
func TestMethodsThatNothingCallsAreLeftOut(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the symbols of another format")
	}
	const unused = "github.com/redis/go-redis/v9.(*Client).FTCreate"
	for _, f := range functions(t) {
		if f.Name == unused {
			t.Errorf("the program has %s, which nothing calls, and with it every exported method. "+
				"A package calls MethodByName of reflect with a name that is no constant; this lists them:\n"+
				"  go build -tags nomsgpack -ldflags=-dumpdep ./cmd/waybill 2>&1 | grep -o '[^ ]* <ReflectMethod>' | sort -u", unused)
		}
	}
}

// functions are those of the program, as its table of lines has them.
func functions(t *testing.T) []gosym.Func {
	t.Helper()
	program, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	lines, text := program.Section(".gopclntab"), program.Section(".text")
	if lines == nil || text == nil {
		t.Fatal("the program has no table of lines, or no code")
	}
	data, err := lines.Data()
	if err != nil {
		t.Fatal(err)
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	if err != nil || len(table.Funcs) == 0 {
		t.Fatalf("the program's functions cannot be read: %d, %v", len(table.Funcs), err)
	}
	return table.Funcs
}

// grown are the ten packages with the most code beyond what the list has.
func grown(t *testing.T, code map[string]int) []string {
	t.Helper()
	text, err := os.ReadFile(weights)
	if err != nil {
		t.Fatal(err)
	}
	more := maps.Clone(code)
	for line := range strings.Lines(string(text)) {
		var name string
		var kib int
		if _, err := fmt.Sscan(line, &kib, &name); err != nil {
			t.Fatalf("%s: %q: %v", weights, line, err)
		}
		more[name] -= kib << 10
	}
	var lines []string
	for _, name := range heaviest(more)[:10] {
		lines = append(lines, fmt.Sprintf("%7d more, %7d in all  %s", more[name]>>10, code[name]>>10, name))
	}
	return lines
}

// write lists the packages with at least 16 KiB.
func write(t *testing.T, code map[string]int) {
	t.Helper()
	var b strings.Builder
	for _, name := range heaviest(code) {
		if code[name] >= 16<<10 {
			fmt.Fprintf(&b, "%6d %s\n", code[name]>>10, name)
		}
	}
	if err := os.WriteFile(weights, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func heaviest(code map[string]int) []string {
	return slices.SortedFunc(maps.Keys(code), func(a, b string) int { return cmp.Compare(code[b], code[a]) })
}
