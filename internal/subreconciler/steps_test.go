package subreconciler_test

import (
	"context"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/internal/subreconciler"
)

func TestRun(t *testing.T) {
	errBoom := errors.New("boom")
	conflict := apierrors.NewConflict(schema.GroupResource{}, "x", errBoom)
	type want struct {
		taken  int
		events []event.Reason
		err    error
	}
	for name, tc := range map[string]struct {
		reason  string
		results []error
		want    want
	}{
		"AllGood": {reason: "All steps are taken.", results: []error{nil, nil}, want: want{taken: 2}},
		"Fails": {
			reason:  "The first that fails ends the pass, and is told.",
			results: []error{nil, errBoom, nil},
			want:    want{2, []event.Reason{"second"}, errBoom},
		},
		"Stops": {
			reason:  "A step may end a pass that has not failed.",
			results: []error{subreconciler.ErrStop, nil},
			want:    want{taken: 1},
		},
		"Conflict": {
			reason:  "A conflict ends the pass without a word.",
			results: []error{conflict, nil},
			want:    want{taken: 1, err: conflict},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := want{}
			var row []subreconciler.Step[*want]
			for i, err := range tc.results {
				row = append(row, subreconciler.Step[*want]{
					Failed: []event.Reason{"first", "second", "third"}[i],
					Do: func(_ context.Context, w *want) error {
						w.taken++
						return err
					},
				})
			}
			record := func(e event.Event) { got.events = append(got.events, e.Reason) }
			got.err = subreconciler.Run(t.Context(), subreconciler.Options{Timeout: time.Minute, Record: record}, &got,
				row...)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{}), cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
