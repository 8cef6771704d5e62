// Package strictjson reads request bodies. It parses bytes into a checked tree in one pass,
// which ends at the first undeclared field. It writes the canonical form for request
// fingerprints. A handler reads typed fields with it, and it collects every error instead of
// only the first.
//
// The steps correspond to the responses a client can get:
//
//	root, bad := strictjson.Parse(body, shape)     // bad: 400, not one clean JSON object of declared names
//	print := sha256.Sum256(root.AppendCanonical(nil))
//	r := strictjson.NewReader(root)
//	name, _ := r.Text("name", strictjson.Optional, strictjson.Length(1, 128))
//	lat, _ := r.Number("latitude", strictjson.Required, strictjson.Between(-90, 90))
//	if problems := r.Problems(); problems != nil { ... } // 422, all of them at once
//
// Parse checks syntax and names, not values: a string in place of a number is no syntax error,
// and the Reader reports it. null counts as absent for an optional field and as missing for a
// required one.
//
// The package knows nothing of HTTP, envelopes or the domain. It does not limit the size of a
// body: the reader of the request does. Messages are for people and may change. Codes, fields,
// lines and columns are for programs.
package strictjson
