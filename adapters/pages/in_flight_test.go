package pages

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"

	"waybill/domain"
)

func TestOnePersonAndOneBusinessHaveFewPagesMadeAtATime(t *testing.T) {
	t.Parallel()
	person := func(n int, business domain.ID) domain.Principal {
		return domain.Principal{Session: domain.Session{BusinessID: business}, Person: domain.Person{ID: domain.ID(fmt.Sprint("prs_", n))}}
	}
	for name, c := range map[string]struct {
		of   func(n int) domain.Principal
		most int
	}{
		"one person":           {func(int) domain.Principal { return person(1, "biz_1") }, pagesPerPerson},
		"one of the staff":     {func(int) domain.Principal { return person(1, "") }, pagesPerPerson},
		"people of a business": {func(n int) domain.Principal { return person(n, "biz_1") }, pagesPerBusiness},
		"the staff":            {func(n int) domain.Principal { return person(n, "") }, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var f inFlight
				enter := func(ctx context.Context, n int) (func(), error) { return f.enter(ctx, c.of(n)) }
				var leave []func()
				for n := range c.most {
					left, err := enter(t.Context(), n)
					if err != nil {
						t.Fatalf("page %d: %v", n, err)
					}
					leave = append(leave, left)
				}
				if c.most < 1000 {
					begun := time.Now()
					if _, err := enter(t.Context(), 2000); !domain.HasCode(err, domain.CodeTooManyPages) || time.Since(begun) != pagePatience {
						t.Errorf("one more: %v after %v", err, time.Since(begun))
					}
					time.AfterFunc(time.Second, leave[0])
					left, err := enter(t.Context(), 2001)
					if err != nil {
						t.Fatalf("as one ends: %v", err)
					}
					leave = append(leave, left)
				}
				for _, n := range []int{1, 9999} {
					if left, err := f.enter(t.Context(), person(n, "biz_2")); err != nil {
						t.Errorf("another business: %v", err)
					} else {
						left()
					}
				}
				for _, left := range leave {
					left()
					left() // as a page does that became a stream
				}
				if len(f.of) != 0 {
					t.Errorf("%d are remembered", len(f.of))
				}
			})
		})
	}
}

func TestLargeFormsAreTakenOneAtATimeFromABusiness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var f inFlight
		of := func(business domain.ID, n int) domain.Principal {
			return domain.Principal{Session: domain.Session{BusinessID: business}, Person: domain.Person{ID: domain.ID(fmt.Sprint("prs_", n))}}
		}
		var leave []func()
		for n := range mostUploads {
			business := domain.ID(fmt.Sprint("biz_", n))
			if n == 0 {
				business = "" // one of the staff
			}
			left, err := f.enterUpload(t.Context(), of(business, n))
			if err != nil {
				t.Fatalf("form %d: %v", n, err)
			}
			leave = append(leave, left)
			if _, err := f.enterUpload(t.Context(), of(business, n)); !domain.HasCode(err, domain.CodeTooManyPages) {
				t.Errorf("another one of %q: %v", business, err)
			}
		}
		if _, err := f.enterUpload(t.Context(), of("biz_99", 99)); !domain.HasCode(err, domain.CodeTooManyPages) {
			t.Errorf("more than a process takes: %v", err)
		}
		leave[1]()
		if left, err := f.enterUpload(t.Context(), of("biz_1", 1)); err != nil {
			t.Errorf("after one has ended: %v", err)
		} else {
			left()
		}
		for _, left := range leave {
			left()
		}
		if len(f.of) != 0 {
			t.Errorf("%d are remembered", len(f.of))
		}
	})
}

func TestABusinessHasOneFileMadeAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		site := &Site{}
		file := func(business domain.ID, during func()) error {
			g, _ := gin.CreateTestContext(httptest.NewRecorder())
			g.Request = httptest.NewRequest(http.MethodGet, "/audit.csv", nil)
			c := &Call{Context: g, site: site, Principal: domain.Principal{Session: domain.Session{BusinessID: business}}}
			return c.CSV("audit.csv", func(func(...string) error) error {
				during()
				return nil
			})
		}
		none := func() {}
		err := file("biz_1", func() {
			begun := time.Now()
			if err := file("biz_1", none); !domain.HasCode(err, domain.CodeTooManyPages) || time.Since(begun) != pagePatience {
				t.Errorf("a second one: %v after %v", err, time.Since(begun))
			}
			if err := file("biz_2", none); err != nil {
				t.Errorf("of another business: %v", err)
			}
		})
		if err != nil || file("biz_1", none) != nil || len(site.heavy.of) != 0 {
			t.Errorf("%v; %d are remembered", err, len(site.heavy.of))
		}
	})
}
