package informer

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// TestPagesShareASize shows what is asked for with pages and without them, and that all pages of a list share a
// ListSize, which the next list does not.
func TestPagesShareASize(t *testing.T) {
	type request struct {
		Version string
		Limit   int64
		Sum     int64 // after the answer, which has one byte
	}
	for name, tc := range map[string]struct {
		page int64
		want []request
	}{
		"Pages": {
			page: 7,
			want: []request{{Limit: 7, Sum: 1}, {Limit: 7, Sum: 2}, {Limit: 7, Sum: 3}, {Limit: 7, Sum: 1}},
		},
		"Whole": {want: []request{{Version: "0", Sum: 1}, {Sum: 2}, {Sum: 3}, {Sum: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []request
			g := &watchSupervisor{page: tc.page, ListerWatcherWithContext: &cache.ListWatch{
				ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
					got = append(got, request{o.ResourceVersion, o.Limit, ListSizeIn(ctx).Add(1)})
					return &metav1.PartialObjectMetadataList{}, nil
				},
			}}
			for _, o := range []metav1.ListOptions{
				{ResourceVersion: "0"}, {Continue: "a"}, {Continue: "b"}, {ResourceVersion: "5"},
			} {
				if _, err := g.ListWithContext(t.Context(), o); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
			if ListSizeIn(t.Context()) != nil {
				t.Error("what belongs to no list has no size")
			}
		})
	}
}
