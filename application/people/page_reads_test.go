package people_test

import (
	"errors"
	"testing"
	"time"

	"waybill/domain"
)

func TestAPersonReadsThreeHundredPagesAMinute(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	reader := func(id domain.ID) domain.Principal { return domain.Principal{Person: domain.Person{ID: id}} }
	for n := range 300 {
		if err := s.AdmitPage(t.Context(), reader("prs_1")); err != nil {
			t.Fatalf("page %d: %v", n, err)
		}
	}
	var e *domain.Error
	if err := s.AdmitPage(t.Context(), reader("prs_1")); !errors.As(err, &e) || e.Code != domain.CodeTooManyPages || e.RetryAfter < time.Second {
		t.Errorf("one more: %v", err)
	}
	if err := s.AdmitPage(t.Context(), reader("prs_2")); err != nil {
		t.Errorf("another person: %v", err)
	}
	elsewhere := reader("prs_1")
	elsewhere.Session.BusinessID = "biz_2"
	if err := s.AdmitPage(t.Context(), elsewhere); err != nil {
		t.Errorf("the same person in another business, who may be somebody else by a link: %v", err)
	}
}
