package portal

import (
	"encoding/json"
	"strings"
)

// keyVariable names the environment variable with the key. No sample shows a key.
const keyVariable = "WAYBILL_API_KEY"

// apiCall describes a call of the public API, to show in several languages.
type apiCall struct {
	Method, URL string
	Headers     [][2]string // besides the key and the content type
	Body        string      // JSON; empty: none
}

// sample holds a call in one language.
type sample struct{ ID, Language, Text string }

// withBody adds a JSON body. It escapes quotes as JSON allows, so that the body fits unchanged into
// a string literal of any language.
func (a apiCall) withBody(body any) (apiCall, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(body); err != nil {
		return a, err
	}
	a.Body = strings.NewReplacer("'", `\u0027`, "`", `\u0060`).Replace(strings.TrimSuffix(b.String(), "\n"))
	return a, nil
}

func (a apiCall) headers() [][2]string {
	all := a.Headers
	if a.Body != "" {
		all = append([][2]string{{"Content-Type", "application/json"}}, all...)
	}
	return all
}

// samples returns the call in all languages. Each sample is a whole program that prints the status
// and the response. Element IDs begin with id.
func (a apiCall) samples(id string) []sample {
	return []sample{
		{id + "-curl", "curl", a.curl()}, {id + "-php", "PHP", a.php()}, {id + "-python", "Python", a.python()},
		{id + "-node", "Node", a.node()}, {id + "-go", "Go", a.golang()},
	}
}

func (a apiCall) curl() string {
	var b strings.Builder
	b.WriteString("curl -sS -i ")
	if a.Method != "GET" {
		b.WriteString("-X " + a.Method + " ")
	}
	b.WriteString("'" + a.URL + "' \\\n  -H \"Authorization: Bearer $" + keyVariable + `"`)
	for _, h := range a.headers() {
		b.WriteString(" \\\n  -H '" + h[0] + ": " + h[1] + "'")
	}
	if a.Body != "" {
		b.WriteString(" \\\n  -d '" + a.Body + "'")
	}
	return b.String()
}

func (a apiCall) php() string {
	var b strings.Builder
	b.WriteString("<?php\n$answer = file_get_contents('" + a.URL + "', false, stream_context_create(['http' => [\n" +
		"    'method' => '" + a.Method + "',\n    'ignore_errors' => true,\n    'header' => [\n" +
		"        'Authorization: Bearer ' . getenv('" + keyVariable + "'),\n")
	for _, h := range a.headers() {
		b.WriteString("        '" + h[0] + ": " + h[1] + "',\n")
	}
	b.WriteString("    ],\n")
	if a.Body != "" {
		b.WriteString("    'content' => <<<'JSON'\n" + a.Body + "\nJSON,\n")
	}
	b.WriteString("]]));\necho $http_response_header[0], \"\\n\", $answer, \"\\n\";")
	return b.String()
}

func (a apiCall) python() string {
	var b strings.Builder
	b.WriteString("import os, urllib.error, urllib.request\n\nrequest = urllib.request.Request('" + a.URL + "', method='" + a.Method +
		"', headers={\n    'Authorization': 'Bearer ' + os.environ['" + keyVariable + "'],\n")
	for _, h := range a.headers() {
		b.WriteString("    '" + h[0] + "': '" + h[1] + "',\n")
	}
	b.WriteString("}")
	if a.Body != "" {
		b.WriteString(", data=r'''" + a.Body + "'''.encode()")
	}
	b.WriteString(")\ntry:\n    answer = urllib.request.urlopen(request)\nexcept urllib.error.HTTPError as refusal:\n    answer = refusal\n" +
		"print(answer.status, answer.read().decode())")
	return b.String()
}

func (a apiCall) node() string {
	var b strings.Builder
	b.WriteString("// save as call.mjs\nconst answer = await fetch('" + a.URL + "', {\n  method: '" + a.Method +
		"',\n  headers: {\n    'Authorization': 'Bearer ' + process.env." + keyVariable + ",\n")
	for _, h := range a.headers() {
		b.WriteString("    '" + h[0] + "': '" + h[1] + "',\n")
	}
	b.WriteString("  },\n")
	if a.Body != "" {
		b.WriteString("  body: JSON.stringify(" + indented(a.Body, "  ") + "),\n")
	}
	b.WriteString("});\nconsole.log(answer.status, await answer.text());")
	return b.String()
}

func (a apiCall) golang() string {
	var b strings.Builder
	reader, imports := "http.NoBody", ""
	if a.Body != "" {
		reader, imports = "strings.NewReader(`"+a.Body+"`)", "\t\"strings\"\n"
	}
	b.WriteString("package main\n\nimport (\n\t\"fmt\"\n\t\"io\"\n\t\"log\"\n\t\"net/http\"\n\t\"os\"\n" + imports + ")\n\nfunc main() {\n" +
		"\trequest, err := http.NewRequest(\"" + a.Method + "\", \"" + a.URL + "\", " + reader +
		")\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n" +
		"\trequest.Header.Set(\"Authorization\", \"Bearer \"+os.Getenv(\"" + keyVariable + "\"))\n")
	for _, h := range a.headers() {
		b.WriteString("\trequest.Header.Set(\"" + h[0] + "\", \"" + h[1] + "\")\n")
	}
	b.WriteString("\tanswer, err := http.DefaultClient.Do(request)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n" +
		"\tdefer answer.Body.Close()\n" +
		"\tbody, err := io.ReadAll(answer.Body)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n\tfmt.Println(answer.StatusCode, string(body))\n}")
	return b.String()
}

// indented indents all lines but the first.
func indented(text, by string) string { return strings.ReplaceAll(text, "\n", "\n"+by) }
