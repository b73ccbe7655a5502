package object

import (
	"context"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/policy"
	"github.com/crossplane-contrib/provider-kcp/internal/reference"
)

// send sends the manifest in the request that can do no more than the policies allow, even if somebody makes or deletes
// the resource at this moment.
func (e *external) send(ctx context.Context, o Object,
	live *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	c, p := e.client(), o.GetManagementPolicies()
	switch {
	case policy.Owns(p):
		return apply.Apply(ctx, c, e.manifest, e.manager)
	case policy.Allows(p, xpv2.ManagementActionCreate):
		return apply.Create(ctx, c, e.manifest, e.manager)
	}
	return apply.Update(ctx, c, e.manifest, apply.Target{UID: live.GetUID(), Manager: e.manager})
}

// client returns a client for the manifest, whose errors repeat nothing that references have put into it.
func (e *external) client() dynamic.ResourceInterface {
	return apply.Discreet(e.cluster.Resource(e.mapping.Resource, e.manifest.GetNamespace()), private(e.pass.references))
}

// private returns what references put into a manifest.
func private(refs *reference.Resolution) apply.Private {
	p := apply.Private{}
	for _, v := range refs.Values() {
		p.Values = append(p.Values, v.Read, v.Written)
		if v.Secret {
			p.Secret, p.Fields = true, append(p.Fields, v.To)
		}
	}
	return p
}
