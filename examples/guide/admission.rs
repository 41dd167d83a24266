//! Chapter "Admission webhooks".

use super::prelude::*;

mod webhook {
    use super::*;
    use kube::core::admission::{AdmissionReview, AdmissionRequest, AdmissionResponse};

    async fn validate_handler(
        body: axum::Json<AdmissionReview<Document>>,
    ) -> axum::Json<AdmissionReview<Document>> {
        let req: AdmissionRequest<Document> = body.0.request.unwrap();
        let resp = match validate(&req) {
            Ok(()) => AdmissionResponse::from(&req).allowed(true),
            Err(reason) => {
                let mut resp = AdmissionResponse::from(&req);
                resp.allowed = false;
                resp.result.message = reason;
                resp
            }
        };

        axum::Json(AdmissionReview {
            types: TypeMeta::default(),
            request: None,
            response: Some(resp),
        })
    }

    fn validate(req: &AdmissionRequest<Document>) -> Result<(), String> {
        if let Some(doc) = &req.object {
            if doc.spec.title.is_empty() {
                return Err("title must not be empty".into());
            }
        }
        Ok(())
    }
}
