// Package strictjson reads request bodies. It turns bytes into a checked tree in one
// pass, which ends at the first undeclared field, writes the canonical form that request
// fingerprints are made of, and lets a handler read typed fields while every problem is
// collected instead of only the first.
//
// The steps map onto the answers a caller can get:
//
//	root, bad := strictjson.Parse(body, shape)     // bad: 400, not one clean JSON object of declared names
//	print := sha256.Sum256(root.AppendCanonical(nil))
//	r := strictjson.NewReader(root)
//	name, _ := r.Text("name", strictjson.Optional, strictjson.Length(1, 128))
//	lat, _ := r.Number("latitude", strictjson.Required, strictjson.Between(-90, 90))
//	if problems := r.Problems(); problems != nil { ... } // 422, all of them at once
//
// Parse answers for the bytes and never for their meaning: a string where a
// number belongs is no syntax error, and the Reader reports it. null counts as
// absent for an optional field and as missing for a required one.
//
// The package knows nothing of HTTP, envelopes or the domain, and does not bound
// the size of a body; the reader of the request does. Messages are for people and
// may change; codes, fields, lines and columns are for programs.
package strictjson
