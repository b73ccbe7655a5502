package aws

import (
	"testing"
)

func TestCluster(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		cluster string
		want    string // empty for an error
	}{
		"Name": {reason: "A cluster has a name.", cluster: "prod", want: "prod"},
		"ARN": {
			reason:  "Or an ARN that ends in it.",
			cluster: "arn:aws:eks:eu-west-1:1:cluster/prod",
			want:    "prod",
		},
		"OtherARN": {reason: "Of a cluster.", cluster: "arn:aws:s3:::prod"},
		"Empty":    {reason: "It must be known.", cluster: ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := New(tc.cluster)
			if tc.want == "" && err == nil {
				t.Errorf("%s\nwant an error, got %v", tc.reason, got)
			}
			if s, ok := got.(source); tc.want != "" && (!ok || s.cluster != tc.want) {
				t.Errorf("%s\nwant %q, got %v and %v", tc.reason, tc.want, got, err)
			}
		})
	}
}
