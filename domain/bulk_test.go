package domain_test

import (
	"reflect"
	"testing"

	"waybill/domain"
)

func TestAnErrorOfAnItemIsToldProblemByProblem(t *testing.T) {
	t.Parallel()
	tooShort := domain.FieldError{Field: "pickup.name", Code: domain.FieldTooShort, Message: "must have 1 to 128 characters"}
	missing := domain.FieldError{Field: "vehicle_type", Code: domain.FieldRequired, Message: "is required"}
	noObject := domain.FieldError{Code: domain.FieldInvalidType, Message: "must be an object"}
	for name, c := range map[string]struct {
		err  *domain.Error
		want []domain.BulkProblem
	}{
		"no field to blame": {
			&domain.Error{Kind: domain.KindInvalid, Code: "PICKUP_LOCATION_INACTIVE", Message: "It is off."},
			[]domain.BulkProblem{{Index: 7, Code: "PICKUP_LOCATION_INACTIVE", Message: "It is off."}},
		},
		"one field": {
			domain.Invalid(missing),
			[]domain.BulkProblem{{Index: 7, Code: "VALIDATION_ERROR", Message: "vehicle_type: is required", Field: "vehicle_type"}},
		},
		"two fields": {
			domain.Invalid(tooShort, missing),
			[]domain.BulkProblem{
				{Index: 7, Code: "VALIDATION_ERROR", Message: "pickup.name: must have 1 to 128 characters", Field: "pickup.name"},
				{Index: 7, Code: "VALIDATION_ERROR", Message: "vehicle_type: is required", Field: "vehicle_type"},
			},
		},
		"the item itself": {
			domain.Invalid(noObject),
			[]domain.BulkProblem{{Index: 7, Code: "VALIDATION_ERROR", Message: "must be an object"}},
		},
	} {
		if got := domain.BulkProblemsOf(7, c.err); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestAnExternalIDThatIsThereTwiceIsToldAtTheSecondAndEveryLaterItem(t *testing.T) {
	t.Parallel()
	duplicate := func(index int, message string) domain.BulkProblem {
		return domain.BulkProblem{Index: index, Code: "DUPLICATE_EXTERNAL_ID", Field: "external_id", Message: message}
	}
	for name, c := range map[string]struct {
		ids  []string
		want []domain.BulkProblem
	}{
		"no items":                   {nil, nil},
		"all different, case counts": {[]string{"a", "A", "b"}, nil},
		"items without one":          {[]string{"", "", ""}, nil},
		"twice":                      {[]string{"a", "b", "a"}, []domain.BulkProblem{duplicate(2, "external_id a is already that of item 0.")}},
		"two of them, with a gap": {[]string{"", "a", "b", "", "b", "a"},
			[]domain.BulkProblem{duplicate(4, "external_id b is already that of item 2."),
				duplicate(5, "external_id a is already that of item 1.")}},
		"three times blame the first": {[]string{"a", "a", "a"}, []domain.BulkProblem{duplicate(1, "external_id a is already that of item 0."),
			duplicate(2, "external_id a is already that of item 0.")}},
	} {
		if got := domain.DuplicateExternalIDs(c.ids); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestABulkIsRefusedForAllOfItsProblemsByItem(t *testing.T) {
	t.Parallel()
	e := domain.BulkInvalid(5, []domain.BulkProblem{
		{Index: 1, Code: "VALIDATION_ERROR", Message: "first", Field: "vehicle_type"},
		{Index: 1, Code: "NOT_FOUND", Message: "second"},
		{Index: 4, Code: "PICKUP_SHAPE_CONFLICT", Message: "third"},
		{Index: 1, Code: "DUPLICATE_EXTERNAL_ID", Message: "fourth", Field: "external_id"},
		{Index: 3, Code: "DUPLICATE_EXTERNAL_ID", Message: "fifth", Field: "external_id"},
	})
	if e.Kind != domain.KindInvalid || e.Code != "BULK_VALIDATION_FAILED" || e.Fields != nil || e.RetryAfter != 0 {
		t.Errorf("error %+v", e)
	}
	if want := "5 problems in 3 of 5 items; nothing was created."; e.Message != want {
		t.Errorf("message %q, want %q", e.Message, want)
	}
	want := map[string]any{"errors": []map[string]any{
		{"index": 1, "code": "VALIDATION_ERROR", "message": "first", "field": "vehicle_type"},
		{"index": 1, "code": "NOT_FOUND", "message": "second"}, // without a field: the name is omitted
		{"index": 1, "code": "DUPLICATE_EXTERNAL_ID", "message": "fourth", "field": "external_id"},
		{"index": 3, "code": "DUPLICATE_EXTERNAL_ID", "message": "fifth", "field": "external_id"},
		{"index": 4, "code": "PICKUP_SHAPE_CONFLICT", "message": "third"},
	}}
	if !reflect.DeepEqual(e.Details, want) {
		t.Errorf("details %v, want %v", e.Details, want)
	}
}

func TestABulkWithOneProblemIsToldInTheSingular(t *testing.T) {
	t.Parallel()
	e := domain.BulkInvalid(1, []domain.BulkProblem{{Index: 0, Code: "NOT_FOUND", Message: "Nothing."}})
	if want := "1 problem in 1 of 1 item; nothing was created."; e.Message != want {
		t.Errorf("message %q, want %q", e.Message, want)
	}
}

func TestARecordIsAnsweredOnceItHasAStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]bool{0: false, 200: true, 201: true, 207: true} {
		r := domain.KeyRecord{Answer: domain.Answer{Status: status}}
		if r.Answered() != want {
			t.Errorf("status %d: answered %t", status, !want)
		}
	}
}
