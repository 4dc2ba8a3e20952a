"""A model of transformers behind FastAPI and uvicorn: what `perceiver serve` is measured against.

Answers POST /v1/embeddings as the program does: {"input": text} -> the mean of the latents.
"""

import argparse

import torch
import uvicorn
from fastapi import FastAPI
from transformers import PerceiverForMaskedLM


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="a folder of weights")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    model = PerceiverForMaskedLM.from_pretrained(args.model).perceiver.eval()
    app = FastAPI()

    @app.get("/health")
    def health():
        return {"status": "ok"}

    @app.post("/v1/embeddings")
    def embeddings(body: dict):
        ids = torch.tensor([[byte + 6 for byte in body["input"].encode()]])  # as bytes are read
        with torch.inference_mode():
            embedded = model.input_preprocessor(ids)[0]
            latents = model.encoder(model.embeddings(batch_size=1), inputs=embedded).last_hidden_state
        return {"data": [{"index": 0, "embedding": latents.mean(dim=(0, 1)).tolist()}]}

    uvicorn.run(app, port=args.port, log_level="warning")


if __name__ == "__main__":
    main()
