package docsite

import "strings"

// These are the entry points of agents, as llmstxt.org says. IndexPath lists the pages, for the
// whole host and also below Prefix, for a host that has the API below its own path. fullPath has
// all pages in one file.
const (
	IndexPath = "/llms.txt"
	fullPath  = Prefix + "/llms-full.txt"
)

// index returns llms.txt: what this is, and the address of every page.
func index(f *facts, guides, codes []*page) string {
	var b strings.Builder
	b.WriteString("# Waybill Delivery API\n\n> " + guides[0].Summary + "\n\n")
	b.WriteString("Sandbox: `" + f.Sandbox + "`, with keys that begin with `svc_test_key_`. Live: `" + f.Live +
		"`, with keys that begin with `svc_live_key_`. Send `Authorization: Bearer KEY`; every create needs an `Idempotency-Key`.\n\n" +
		"Every page is Markdown at its address with `.md`, or with `Accept: text/markdown`. All of them in one file: " +
		f.Host + fullPath + "\n\n`waybill mcp` gives an agent tools over this API; see [For agents](" + f.Site + "/agents.md).\n")
	section := func(title string, pages []*page) {
		b.WriteString("\n## " + title + "\n\n")
		for _, p := range pages {
			b.WriteString("- [" + p.Title + "](" + f.Site + markdownPath(p.Path) + "): " + p.Summary + "\n")
		}
	}
	section("Guides", guides)
	section("Error codes", codes)
	b.WriteString("\n## Optional\n\n- [openapi.yaml](" + f.Sandbox + "/openapi.yaml): the API as OpenAPI 3.1\n" +
		"- [openapi.json](" + f.Sandbox + "/openapi.json): the same as JSON\n")
	return b.String()
}

// full returns all pages, each with its address in the line after its title.
func full(f *facts, pages []*page) string {
	var b strings.Builder
	for _, p := range pages {
		title, rest, _ := strings.Cut(p.markdown, "\n")
		b.WriteString(title + "\nSource: " + f.Site + p.Path + "\n" + rest + "\n")
	}
	return b.String()
}
