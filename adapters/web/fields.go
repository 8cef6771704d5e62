package web

import (
	"waybill/adapters/web/strictjson"
	"waybill/domain"
)

// Text reads a text by the rule of its kind.
func Text(r *strictjson.Reader, field string, need strictjson.Need, rule domain.TextRule) (string, bool) {
	rules := []strictjson.TextRule{strictjson.Length(rule.Least, rule.Most), strictjson.Fit(rule.FaultIn), strictjson.Fit(domain.SecretFault)}
	if rule.Multiline {
		rules = append(rules, strictjson.Multiline())
	}
	return r.Text(field, need, rules...)
}

// Latitude reads the field latitude.
func Latitude(r *strictjson.Reader, need strictjson.Need) (float64, bool) {
	return r.Number("latitude", need, strictjson.Between(float64(-domain.MaxLatitude), float64(domain.MaxLatitude)))
}

// Longitude reads the field longitude.
func Longitude(r *strictjson.Reader, need strictjson.Need) (float64, bool) {
	return r.Number("longitude", need, strictjson.Between(float64(-domain.MaxLongitude), float64(domain.MaxLongitude)))
}
