package web

import (
	"waybill/adapters/web/strictjson"
	"waybill/domain"
)

// Text reads a text by the rule of its kind.
func Text(r *strictjson.Reader, field string, need strictjson.Need, rule domain.TextRule) (string, bool) {
	if rule.Multiline {
		return r.Text(field, need, strictjson.Length(rule.Least, rule.Most), strictjson.Fit(rule.Fault), strictjson.Multiline())
	}
	return r.Text(field, need, strictjson.Length(rule.Least, rule.Most), strictjson.Fit(rule.Fault))
}

// Latitude reads the field of that name.
func Latitude(r *strictjson.Reader, need strictjson.Need) (float64, bool) {
	return r.Number("latitude", need, strictjson.Between(float64(-domain.MaxLatitude), float64(domain.MaxLatitude)))
}

// Longitude reads the field of that name.
func Longitude(r *strictjson.Reader, need strictjson.Need) (float64, bool) {
	return r.Number("longitude", need, strictjson.Between(float64(-domain.MaxLongitude), float64(domain.MaxLongitude)))
}
