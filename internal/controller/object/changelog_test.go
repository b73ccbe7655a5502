package object

import (
	"context"
	"testing"

	changelogs "github.com/crossplane/crossplane-runtime/v2/apis/changelogs/proto/v1alpha1"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
)

// snapshots is a change log that keeps what it is given.
type snapshots struct{ last resource.Managed }

func (s *snapshots) Log(_ context.Context, mg resource.Managed, _ changelogs.OperationType, _ error,
	_ managed.AdditionalDetails,
) error {
	s.last = mg
	return nil
}

func TestDiscreetLogger(t *testing.T) {
	const (
		wanted = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"password":"hunter2"}}`
		seen   = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s",` +
			`"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"hunter2"}},"data":{"password":"aHVudGVyMg=="}}`
		config = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"a":"b"}}`
	)
	for name, tc := range map[string]struct {
		reason               string
		desired, observed    string
		wantSpec, wantStatus string
	}{
		"Secret": {
			reason: "Values are masked in spec and status.", desired: wanted, observed: seen,
			wantSpec: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"redacted":null},` +
				`"data":{"redacted":null}}`,
			wantStatus: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","annotations":{}},"data":{"redacted":null}}`,
		},
		"NotSeenYet": {reason: "There may be no status yet.", desired: config, wantSpec: config},
		"OtherKind": {
			reason:     "Other kinds are logged as they are.",
			desired:    config,
			observed:   config,
			wantSpec:   config,
			wantStatus: config,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := &objectv1alpha2.Object{}
			o.Desired().ForProvider.Manifest = runtime.RawExtension{Raw: []byte(tc.desired)}
			if tc.observed != "" {
				o.Observed().Manifest = runtime.RawExtension{Raw: []byte(tc.observed)}
			}
			before := o.DeepCopy()
			next := &snapshots{}
			if err := (discreetLogger{next: next}).Log(t.Context(), o, 0, nil, nil); err != nil {
				t.Fatal(err)
			}
			got := next.last.(*objectv1alpha2.Object)
			if diff := cmp.Diff(content(t, tc.wantSpec),
				content(t, string(got.Desired().ForProvider.Manifest.Raw))); diff != "" {
				t.Errorf("%s\nspec: -want, +got:\n%s", tc.reason, diff)
			}
			if tc.wantStatus != "" {
				if diff := cmp.Diff(content(t, tc.wantStatus),
					content(t, string(got.Observed().Manifest.Raw))); diff != "" {
					t.Errorf("%s\nstatus: -want, +got:\n%s", tc.reason, diff)
				}
			}
			if diff := cmp.Diff(before, o); diff != "" {
				t.Errorf("%s\nthe Object is in use: -before, +after:\n%s", tc.reason, diff)
			}
		})
	}
}
