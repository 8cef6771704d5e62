package trackingpage

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	accept "golang.org/x/text/language"

	"waybill/domain"
)

// textFiles has one file a language, named by its BCP 47 tag. A new file is a new language.
//
//go:embed texts/*.json
var textFiles embed.FS

// original is the language of a text that a translation lacks.
const original = "en"

// language holds the texts of a language.
type language struct {
	Tag    string            `json:"-"`
	Name   string            `json:"language"` // in the language itself
	Months [12]string        `json:"months"`
	Texts  map[string]string `json:"texts"`
}

// languages holds all languages, the original first.
type languages struct {
	all     []*language
	matcher accept.Matcher
}

// loadLanguages reads the files of a folder.
func loadLanguages(files fs.FS) (l languages, err error) {
	first, err := readLanguage(files, "texts/"+original+".json")
	if err != nil {
		return l, err
	}
	l.all = []*language{first}
	names, err := fs.Glob(files, "texts/*.json")
	if err != nil {
		return l, err
	}
	for _, name := range names {
		if name == "texts/"+original+".json" {
			continue
		}
		other, err := readLanguage(files, name)
		if err != nil {
			return l, err
		}
		for key, text := range first.Texts {
			if other.Texts[key] == "" {
				other.Texts[key] = text
			}
		}
		l.all = append(l.all, other)
	}
	var tags []accept.Tag
	for _, one := range l.all {
		tag, err := accept.Parse(one.Tag)
		if err != nil {
			return l, fmt.Errorf("texts/%s.json is not named by a language: %w", one.Tag, err)
		}
		tags = append(tags, tag)
	}
	l.matcher = accept.NewMatcher(tags)
	return l, nil
}

func readLanguage(files fs.FS, name string) (*language, error) {
	content, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	l := &language{Tag: strings.TrimSuffix(path.Base(name), ".json"), Texts: map[string]string{}}
	if err := json.Unmarshal(content, l); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return l, nil
}

// edition is the language of a page. chosen says that the address names it.
type edition struct {
	*language
	chosen bool
}

// of returns the edition for a request: the one that its address names, or the best one for the
// browser.
func (l languages) of(c *gin.Context) edition {
	wanted := c.Query("lang")
	for _, one := range l.all {
		if one.Tag == wanted {
			return edition{one, true}
		}
	}
	_, best := accept.MatchStrings(l.matcher, c.GetHeader("Accept-Language"))
	return edition{l.all[best], false}
}

// Keep returns the query that keeps a chosen language on the next page.
func (e edition) Keep() string {
	if !e.chosen {
		return ""
	}
	return "?lang=" + e.Tag
}

// Chosen returns the tag of a chosen language.
func (e edition) Chosen() string { return strings.TrimPrefix(e.Keep(), "?lang=") }

// Say returns a text. values replace its placeholders: name, value, and so on.
func (l *language) Say(key string, values ...string) string {
	text := l.Texts[key]
	for i := 0; i+1 < len(values); i += 2 {
		text = strings.ReplaceAll(text, "{"+values[i]+"}", values[i+1])
	}
	return text
}

// moment returns a time as the page shows it before the script converts it to the reader's time
// zone.
func (l *language) moment(t time.Time) string {
	t = t.UTC()
	return l.Say("time", "day", t.Format("2"), "month", l.Months[t.Month()-1], "year", t.Format("2006"), "time", t.Format("15:04"))
}

// amount returns money as the language writes it.
func (l *language) amount(m domain.Money) string {
	return l.Say("amount", "currency", m.Currency, "whole", fmt.Sprint(m.Minor/100), "cents", fmt.Sprintf("%02d", m.Minor%100))
}
