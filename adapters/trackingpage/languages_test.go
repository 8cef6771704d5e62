package trackingpage

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"waybill/domain"
)

func TestEveryLanguageHasEveryTextWithItsPlaceholders(t *testing.T) {
	t.Parallel()
	placeholders := regexp.MustCompile(`\{[a-z]+\}`)
	first, err := readLanguage(textFiles, "texts/en.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, status := range domain.Statuses() {
		for _, text := range []string{".headline", ".detail", ".step"} {
			if first.Texts[string(status)+text] == "" {
				t.Errorf("no text %s%s", status, text)
			}
		}
	}
	for _, reason := range domain.ReasonCodes() {
		if first.Texts["reason."+string(reason)] == "" {
			t.Errorf("no text of the reason %s", reason)
		}
	}
	files, err := textFiles.ReadDir("texts")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d languages, %v", len(files), err)
	}
	for _, file := range files {
		l, err := readLanguage(textFiles, "texts/"+file.Name()) // before what it lacks is filled
		if err != nil {
			t.Fatal(err)
		}
		if l.Name == "" || slices.Contains(l.Months[:], "") {
			t.Errorf("%s: its name is %q and its months are %q", file.Name(), l.Name, l.Months)
		}
		if got, want := slices.Sorted(maps.Keys(l.Texts)), slices.Sorted(maps.Keys(first.Texts)); !slices.Equal(got, want) {
			t.Errorf("%s has the texts\n%q\nand English has\n%q", file.Name(), got, want)
		}
		for key, text := range l.Texts {
			got, want := placeholders.FindAllString(text, -1), placeholders.FindAllString(first.Texts[key], -1)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) || strings.TrimSpace(text) == "" {
				t.Errorf("%s: %s has %q, want %q", file.Name(), key, got, want)
			}
		}
	}
}

func TestATextThatALanguageLacksIsEnglish(t *testing.T) {
	t.Parallel()
	l, err := loadLanguages(fstest.MapFS{
		"texts/en.json": {Data: []byte(`{"texts": {"refresh": "Refresh", "from": "From"}}`)},
		"texts/tw.json": {Data: []byte(`{"texts": {"from": "Fi", "refresh": ""}}`)},
	})
	if err != nil || len(l.all) != 2 || l.all[1].Say("from") != "Fi" || l.all[1].Say("refresh") != "Refresh" {
		t.Errorf("%+v, %v", l.all, err)
	}
}
