package object

import (
	"context"
	"encoding/json"

	changelogs "github.com/crossplane/crossplane-runtime/v2/apis/changelogs/proto/v1alpha1"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crossplane-contrib/provider-kcp/internal/diff"
)

// A discreetLogger keeps values of Secrets out of the change logs, to which each change sends the whole Object.
type discreetLogger struct{ next managed.ChangeLogger }

// Log sends a change to the change logs, with the values of Secrets masked.
func (l discreetLogger) Log(
	ctx context.Context, mg resource.Managed, op changelogs.OperationType, changed error, d managed.AdditionalDetails,
) error {
	snapshot := copyOf(mg)
	for _, raw := range []*runtime.RawExtension{
		&snapshot.Desired().ForProvider.Manifest, &snapshot.Observed().Manifest,
	} {
		if err := maskSecret(raw); err != nil {
			return err
		}
	}
	return errors.Wrap(l.next.Log(ctx, snapshot, op, changed, d), "cannot log change")
}

// maskSecret masks the values of a manifest if it is one of a Secret, or is none that can be read.
func maskSecret(raw *runtime.RawExtension) error {
	if len(raw.Raw) == 0 {
		return nil
	}
	content := map[string]any{}
	if err := decode(raw.Raw, &content); err != nil {
		return errors.New("cannot decode manifest for the change logs")
	}
	if !diff.IsSecret(content) {
		return nil
	}
	hideValues(content)
	masked, err := json.Marshal(content)
	if err != nil {
		return errors.New("cannot encode manifest for the change logs")
	}
	raw.Raw = masked
	return nil
}
